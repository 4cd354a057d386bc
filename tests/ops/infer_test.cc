// The shape rules of every row before all is known, against themselves when it is: random nodes
// whose dimensions are partly symbols, in one table, are inferred once with the symbols and once
// with numbers in their place. What was certain must come out so, and a symbol must always stand
// for one number.
#include <cstring>
#include <map>
#include <random>

#include "tests/plugin/handles.h"

extern "C" {
#include "base/alloc.h"
}

namespace {

using lk::api;
using lk::Dims;

void end_dims(lk_dims *dims) {
  api()->dims_destroy(dims);
}
using Table = lk::Owned<lk_dims, end_dims>;

Table open_table() {
  Table table;
  LK_EXPECT_OK(api()->dims_create(lk_allocator_default(), table.out(), LK_ERR));
  return table;
}

// A dimension as it is known now, and as it turns out to be.
struct Dim {
  int64_t symbol, number;
};
using Shape = std::vector<Dim>;

struct Input {
  uint32_t dtype = LK_F32;
  Shape shape;
  std::vector<uint8_t> bytes; // of a list
  bool absent = false;
};

// A random node.
struct Node {
  std::string op, domain;
  int32_t opset = 13;
  uint32_t n_outputs = 1;
  std::vector<Input> inputs;
  std::map<std::string, std::vector<int64_t>> ints;
  std::string auto_pad;
};

class Draw {
public:
  Draw(std::mt19937 *random, const std::vector<Dim> *symbols)
      : random_(*random), symbols_(*symbols) {}

  Node node;

  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool one_of(int64_t n) { return between(1, n) == 1; }
  Dim dim() {
    if (one_of(2)) return symbols_[size_t(between(0, int64_t(symbols_.size()) - 1))];
    const int64_t n = between(one_of(6) ? 0 : 1, 9);
    return {n, n};
  }
  static Dim number(int64_t n) { return {n, n}; }
  Shape shape(int64_t low, int64_t high) {
    Shape shape;
    for (int64_t n = between(low, high); n > 0; n--) shape.push_back(dim());
    return shape;
  }
  // One that broadcasts with `to`, or nearly so.
  Shape beside(const Shape &to) {
    Shape shape(to.begin() + between(0, int64_t(to.size())), to.end());
    for (Dim &d : shape) {
      if (one_of(3)) d = one_of(4) ? dim() : number(1);
    }
    return shape;
  }
  void tensor(const Shape &shape, uint32_t dtype = LK_F32) {
    node.inputs.push_back({dtype, shape, {}, false});
  }
  template <typename T>
  void list(const std::vector<T> &values, uint32_t dtype, bool scalar = false) {
    Input input;
    input.dtype = dtype;
    if (!scalar) input.shape = Shape(1, number(int64_t(values.size())));
    input.bytes.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(input.bytes.data(), values.data(), input.bytes.size());
    node.inputs.push_back(input);
  }
  void ints(const std::vector<int64_t> &values) { list(values, LK_I64); }
  void absent() {
    node.inputs.emplace_back();
    node.inputs.back().absent = true;
  }
  std::vector<int64_t> many(size_t count, int64_t low, int64_t high) {
    std::vector<int64_t> values(count);
    for (int64_t &value : values) value = between(low, high);
    return values;
  }
  void windows(size_t spatial) {
    if (one_of(2)) node.ints["strides"] = many(spatial, 1, 3);
    if (one_of(3)) node.ints["dilations"] = many(spatial, 1, 2);
    if (one_of(2)) node.ints["pads"] = many(2 * spatial, 0, 2);
    const char *pads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    if (one_of(3)) node.auto_pad = pads[between(0, 3)];
  }

private:
  std::mt19937 &random_;
  const std::vector<Dim> &symbols_;
};

void unary(Draw &d) {
  d.tensor(d.shape(0, 5));
}
void binary(Draw &d) {
  const Shape shape = d.shape(0, 4), other = d.beside(shape);
  const bool swap = d.one_of(2);
  d.tensor(swap ? other : shape);
  d.tensor(swap ? shape : other);
}
void pool(Draw &d) {
  const Shape shape = d.shape(3, 5);
  d.tensor(shape);
  d.node.ints["kernel_shape"] = d.many(shape.size() - 2, 1, 3);
  d.node.ints["ceil_mode"] = {d.between(0, 1)};
  d.windows(shape.size() - 2);
}
void convolution(Draw &d, bool transposed) {
  Shape x = d.shape(3, 5);
  const int64_t groups = d.one_of(3) ? 2 : 1;
  const Dim channels = d.one_of(2) ? Draw::number(4) : x[1];
  x[1] = channels;
  const Dim each = groups == 1 ? channels : Draw::number(std::max<int64_t>(channels.number, 2) / 2);
  Shape w = transposed ? Shape{channels, d.dim()} : Shape{Draw::number(4), each};
  for (size_t i = 2; i < x.size(); i++)
    w.push_back(d.one_of(5) ? d.dim() : Draw::number(d.between(1, 3)));
  d.tensor(x);
  d.tensor(w);
  d.node.ints["group"] = {groups};
  d.windows(x.size() - 2);
  if (transposed && d.one_of(3)) d.node.ints["output_padding"] = d.many(x.size() - 2, 0, 1);
  if (transposed && d.one_of(5)) d.node.ints["output_shape"] = d.many(x.size() - 2, 1, 9);
}
void axes_behind(Draw &d, int64_t rank, bool as_input) {
  if (d.one_of(6)) return;
  std::vector<int64_t> axes =
      d.many(size_t(d.between(0, 2)), -rank, std::max<int64_t>(rank - 1, 0));
  if (as_input) {
    d.ints(axes);
  } else {
    d.node.ints["axes"] = axes;
  }
}

const std::map<std::string, std::function<void(Draw &)>> &rules() {
  static const std::map<std::string, std::function<void(Draw &)>> all = {
      {"Add", binary},
      {"AveragePool", pool},
      {"BatchNormalization",
       [](Draw &d) {
         const Shape x = d.shape(2, 5);
         d.tensor(x);
         for (int i = 0; i < 4; i++) d.tensor({d.one_of(9) ? d.dim() : x[1]});
       }},
      {"Cast",
       [](Draw &d) {
         unary(d);
         d.node.ints["to"] = {d.one_of(3) ? LK_F32 : LK_I64};
       }},
      {"Clip",
       [](Draw &d) {
         unary(d);
         if (d.one_of(2)) d.tensor({});
         if (d.one_of(2)) d.tensor(d.one_of(2) ? Shape{} : Shape{Draw::number(1)});
       }},
      {"Concat",
       [](Draw &d) {
         const Shape first = d.shape(1, 4);
         const size_t axis = size_t(d.between(0, int64_t(first.size()) - 1));
         for (int64_t n = d.between(1, 4); n > 0; n--) {
           Shape next = first;
           next[axis] = d.dim();
           d.tensor(next);
         }
         d.node.ints["axis"] = {int64_t(axis) - (d.one_of(2) ? int64_t(first.size()) : 0)};
       }},
      {"Constant", [](Draw &d) { d.node.ints["value_ints"] = d.many(3, 0, 9); }},
      {"ConstantOfShape", [](Draw &d) { d.ints(d.many(size_t(d.between(0, 4)), 0, 9)); }},
      {"Conv", [](Draw &d) { convolution(d, false); }},
      {"ConvTranspose", [](Draw &d) { convolution(d, true); }},
      {"Div", binary},
      {"Dropout",
       [](Draw &d) {
         unary(d);
         d.node.n_outputs = uint32_t(d.between(1, 2));
         if (d.one_of(2)) return;
         d.absent();
         d.list<uint8_t>({uint8_t(d.one_of(4))}, LK_BOOL, true);
       }},
      {"Flatten",
       [](Draw &d) {
         unary(d);
         d.node.ints["axis"] = {d.between(-4, 4)};
       }},
      {"Gather",
       [](Draw &d) {
         const Shape shape = d.shape(1, 4);
         d.tensor(shape);
         d.tensor(d.shape(0, 2), LK_I64);
         d.node.ints["axis"] = {d.between(-2, 2)};
       }},
      {"Gemm",
       [](Draw &d) {
         const Dim m = d.dim(), k = d.dim(), n = d.dim();
         const int64_t a = d.between(0, 1), b = d.between(0, 1);
         d.tensor(a != 0 ? Shape{k, m} : Shape{m, k});
         d.tensor(b != 0 ? Shape{n, k} : Shape{k, n});
         if (d.one_of(2)) d.tensor(d.beside({m, n}));
         d.node.ints["transA"] = {a};
         d.node.ints["transB"] = {b};
       }},
      {"GlobalAveragePool", [](Draw &d) { d.tensor(d.shape(3, 5)); }},
      {"HardSigmoid", unary},
      {"HardSwish", unary},
      {"Identity", unary},
      {"LRN",
       [](Draw &d) {
         unary(d);
         d.node.ints["size"] = {3};
       }},
      {"MatMul",
       [](Draw &d) {
         Shape a = d.shape(1, 4), b = d.beside(a);
         if (b.empty()) b.push_back(d.dim());
         b[b.size() >= 2 ? b.size() - 2 : 0] = a.back();
         d.tensor(a);
         d.tensor(b);
       }},
      {"MaxPool",
       [](Draw &d) {
         pool(d);
         d.node.n_outputs = uint32_t(d.between(1, 2));
       }},
      {"Mul", binary},
      {"Pow", binary},
      {"ReduceMean",
       [](Draw &d) {
         const Shape x = d.shape(0, 4);
         d.tensor(x);
         d.node.opset = d.one_of(2) ? 13 : 18;
         d.node.ints["keepdims"] = {d.between(0, 1)};
         axes_behind(d, int64_t(x.size()), d.node.opset == 18);
       }},
      {"Relu", unary},
      {"Reshape",
       [](Draw &d) {
         const Shape x = d.shape(0, 4);
         std::vector<int64_t> to;
         for (const Dim &dim : x) to.push_back(d.one_of(2) ? 0 : dim.number);
         if (!to.empty() && d.one_of(2)) to[size_t(d.between(0, int64_t(to.size()) - 1))] = -1;
         if (d.one_of(4)) to.push_back(d.between(-1, 2));
         if (d.one_of(3)) to = {-1};
         if (d.one_of(4)) to = {0, -1};
         int64_t elements = 1;
         for (const Dim &dim : x) elements *= dim.number;
         for (int64_t n = 2; n < 5; n++) {
           if (elements % n == 0 && d.one_of(3)) to = {n, -1};
         }
         d.tensor(x);
         d.ints(to);
         d.node.opset = 14;
         d.node.ints["allowzero"] = {d.one_of(5)};
       }},
      {"Resize",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         const float scales[] = {0.5F, 1, 1.5F, 2};
         d.tensor(x);
         d.list<float>({}, LK_F32);
         if (d.one_of(2)) {
           std::vector<float> given;
           for (size_t i = 0; i < x.size(); i++) given.push_back(scales[d.between(0, 3)]);
           d.list<float>(given, LK_F32);
         } else {
           d.absent();
           d.ints(d.many(x.size(), 1, 9));
         }
       }},
      {"Shape",
       [](Draw &d) {
         unary(d);
         d.node.opset = 15;
         if (d.one_of(2)) d.node.ints["start"] = {d.between(-3, 3)};
         if (d.one_of(2)) d.node.ints["end"] = {d.between(-3, 3)};
       }},
      {"Sigmoid", unary},
      {"Slice",
       [](Draw &d) {
         const Shape x = d.shape(1, 4);
         const size_t n = size_t(d.between(1, int64_t(x.size())));
         std::vector<int64_t> axes, ends = d.many(n, -4, 9);
         for (size_t i = 0; i < n; i++) axes.push_back(int64_t(x.size() - 1 - i));
         for (int64_t &end : ends) end = d.one_of(3) ? INT64_MAX : end;
         d.tensor(x);
         d.ints(d.one_of(2) ? std::vector<int64_t>(n) : d.many(n, -4, 9));
         d.ints(ends);
         if (d.one_of(3)) return;
         d.ints(axes);
         if (d.one_of(3)) d.ints(d.many(n, 1, 2));
       }},
      {"Softmax",
       [](Draw &d) {
         unary(d);
         d.node.opset = d.one_of(2) ? 11 : 13;
         d.node.ints["axis"] = {d.between(-3, 3)};
       }},
      {"Sqrt", unary},
      {"Squeeze",
       [](Draw &d) {
         Shape x = d.shape(0, 4);
         x.push_back(Draw::number(1));
         d.tensor(x);
         if (d.one_of(3)) return;
         d.ints({d.one_of(4) ? 0 : -1});
       }},
      {"Sub", binary},
      {"Sum",
       [](Draw &d) {
         const Shape shape = d.shape(0, 4);
         for (int64_t n = d.between(1, 3); n > 0; n--) d.tensor(d.beside(shape));
       }},
      {"Swish", unary},
      {"Transpose",
       [](Draw &d) {
         const Shape x = d.shape(0, 4);
         std::vector<int64_t> perm;
         for (size_t i = 0; i < x.size(); i++) {
           perm.insert(perm.begin() + d.between(0, int64_t(i)), int64_t(i));
         }
         d.tensor(x);
         if (d.one_of(2) && !perm.empty()) d.node.ints["perm"] = perm;
       }},
      {"Unsqueeze",
       [](Draw &d) {
         const Shape x = d.shape(0, 4);
         d.tensor(x);
         d.ints(d.many(size_t(d.between(1, 2)), -2, int64_t(x.size())));
       }},
  };
  return all;
}

struct Answer {
  lk_status status = LK_OK;
  std::vector<lk_tensor_desc> outputs;
  int32_t copy_of = -1;
};

// `hide`: whether something that may be unknown is; every dimension as a number when it is empty.
Answer infer(lk_dims *table, const Node &node, const std::function<bool()> &hide) {
  std::vector<lk_node_input> flags(node.inputs.size());
  std::vector<lk_tensor> inputs(node.inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    const Input &from = node.inputs[i];
    if (from.absent) flags[i].flags = LK_INPUT_ABSENT;
    if (from.absent) continue;
    lk_tensor_desc &desc = inputs[i].desc;
    desc.dtype = from.dtype;
    desc.rank = uint32_t(from.shape.size());
    for (size_t d = 0; d < from.shape.size(); d++) {
      desc.dims[d] = hide ? from.shape[d].symbol : from.shape[d].number;
    }
    const bool is_list = !from.bytes.empty();
    if (is_list && (!hide || !hide())) inputs[i].data = const_cast<uint8_t *>(from.bytes.data());
    if (!is_list && hide && hide() && hide()) desc.rank = LK_RANK_UNKNOWN;
    if (!is_list && hide && hide() && hide() && hide()) desc.dtype = LK_DTYPE_NONE;
  }
  std::vector<lk_attr> attrs;
  for (const auto &[name, values] : node.ints) {
    attrs.push_back({name.c_str(), LK_ATTR_INTS, uint32_t(values.size()), values.data()});
  }
  if (!node.auto_pad.empty()) {
    attrs.push_back(
        {"auto_pad", LK_ATTR_STRING, uint32_t(node.auto_pad.size()), node.auto_pad.data()});
  }
  lk_node_desc desc{};
  desc.struct_size = sizeof desc;
  desc.op_type = node.op.c_str();
  desc.domain = node.domain.c_str();
  desc.output_name = "y";
  desc.opset = node.opset;
  desc.n_inputs = uint32_t(inputs.size());
  desc.inputs = flags.data();
  desc.n_outputs = node.n_outputs;
  desc.n_attrs = uint32_t(attrs.size());
  desc.attrs = attrs.data();
  Answer answer;
  answer.outputs.resize(node.n_outputs);
  answer.status =
      api()->op_infer(table, &desc, inputs.data(), answer.outputs.data(), &answer.copy_of, LK_ERR);
  return answer;
}

// What terms stand for, as far as outputs have told.
using Meaning = std::map<int64_t, int64_t>;

void compare(const Answer &before, const Answer &after, Meaning *meaning) {
  if (after.status != LK_OK) return; // it would not have run
  ASSERT_EQ(before.status, LK_OK) << LK_MESSAGE;
  if (before.copy_of >= 0) {
    EXPECT_EQ(before.copy_of, after.copy_of);
  }
  for (size_t i = 0; i < after.outputs.size(); i++) {
    const lk_tensor_desc &was = before.outputs[i], &is = after.outputs[i];
    if (was.dtype != LK_DTYPE_NONE) {
      EXPECT_EQ(was.dtype, is.dtype);
    }
    if (was.rank == LK_RANK_UNKNOWN) continue;
    ASSERT_EQ(was.rank, is.rank);
    for (uint32_t d = 0; d < is.rank; d++) {
      ASSERT_GE(is.dims[d], 0);
      ASSERT_NE(was.dims[d], LK_DIM_UNKNOWN);
      if (was.dims[d] >= 0) {
        EXPECT_EQ(was.dims[d], is.dims[d]) << "dimension " << d;
      } else {
        const auto known = meaning->emplace(was.dims[d], is.dims[d]).first;
        EXPECT_EQ(known->second, is.dims[d]) << "dimension " << d << ", term " << was.dims[d];
      }
    }
  }
}

TEST(Infer, SymbolsComeOutAsTheirNumbers) {
  std::map<std::string, int> ran, told; // nodes that can run; dimensions of them that were certain
  for (unsigned seed = 0; seed < 60; seed++) {
    std::mt19937 random(seed);
    const Table table = open_table(), numbers = open_table();
    std::vector<Dim> symbols;
    Meaning meaning;
    for (int i = 0; i < 4; i++) {
      symbols.push_back({api()->dims_open(table), int64_t(1 + random() % 8)});
      ASSERT_LT(symbols.back().symbol, LK_DIM_UNKNOWN);
      meaning.emplace(symbols.back().symbol, symbols.back().number);
    }
    for (uint32_t row = 0; api()->op_row(row) != nullptr; row++) {
      const std::string op = api()->op_row(row)->op_type;
      const auto rule = rules().find(op);
      ASSERT_NE(rule, rules().end()) << "no case for " << op;
      for (int i = 0; i < 12; i++) {
        SCOPED_TRACE(op + ", seed " + std::to_string(seed) + ", node " + std::to_string(i));
        Draw draw(&random, &symbols);
        draw.node.op = op;
        draw.node.domain = api()->op_row(row)->domain;
        draw.node.opset = std::max(13, api()->op_row(row)->since);
        rule->second(draw);
        const Answer after = infer(numbers, draw.node, {});
        const bool hides = draw.one_of(2);
        const Answer before = infer(table, draw.node, [&] { return hides && draw.one_of(3); });
        compare(before, after, &meaning);
        if (::testing::Test::HasFailure()) return;
        ran[op] += after.status == LK_OK;
        if (after.status == LK_OK) told[op] += before.outputs[0].rank != LK_RANK_UNKNOWN;
      }
    }
  }
  for (const auto &[op, rule] : rules()) {
    EXPECT_GT(ran[op], 100) << op;
    EXPECT_GT(told[op], ran[op] / 3) << op;
  }
}

// Terms that are not told apart by what they are made of.
TEST(Infer, EqualExpressionsAreEqualTerms) {
  const Table table = open_table();
  const Dim n = {api()->dims_open(table), 0}, m = {api()->dims_open(table), 0};
  const auto certain = [] { return false; };
  auto dim = [&](const std::string &op, std::vector<Shape> shapes, uint32_t index,
                 std::map<std::string, std::vector<int64_t>> ints = {}) {
    Node node;
    node.op = op;
    node.opset = 14;
    node.ints = std::move(ints);
    for (const Shape &shape : shapes) node.inputs.push_back({LK_F32, shape, {}, false});
    const Answer answer = infer(table, node, certain);
    EXPECT_EQ(answer.status, LK_OK) << LK_MESSAGE;
    return answer.outputs[0].dims[index];
  };
  const Dim one = {1, 1}, two = {2, 2};
  EXPECT_EQ(dim("Relu", {{n}}, 0), n.symbol);
  EXPECT_EQ(dim("Add", {{n}, {one}}, 0), n.symbol);
  EXPECT_EQ(dim("Add", {{n}, {two}}, 0), 2);
  EXPECT_EQ(dim("Add", {{n}, {m}}, 0), dim("Mul", {{m}, {n}}, 0));
  EXPECT_NE(dim("Add", {{n}, {m}}, 0), n.symbol);
  EXPECT_EQ(dim("Concat", {{n}, {m}}, 0, {{"axis", {0}}}),
            dim("Concat", {{m}, {n}}, 0, {{"axis", {0}}}));
  EXPECT_EQ(dim("Flatten", {{n, m, two}}, 1), dim("Flatten", {{m, m, two}}, 1));
  const std::map<std::string, std::vector<int64_t>> half = {
      {"kernel_shape", {3}}, {"strides", {2}}, {"pads", {1, 1}}};
  EXPECT_EQ(dim("MaxPool", {{one, one, n}}, 2, half),
            dim("MaxPool", {{one, one, n}}, 2, {{"kernel_shape", {1}}, {"strides", {2}}}));
  EXPECT_NE(dim("MaxPool", {{one, one, n}}, 2, half), n.symbol);
  auto rest = [&](int64_t known) { // what -1 stands for beside a number
    Node node;
    node.op = "Reshape";
    Input shape;
    const int64_t values[] = {known, -1};
    shape.dtype = LK_I64;
    shape.shape = Shape(1, two);
    shape.bytes.resize(sizeof values);
    std::memcpy(shape.bytes.data(), values, sizeof values);
    node.inputs = {{LK_F32, {n, m}, {}, false}, shape};
    return infer(table, node, certain).outputs[0].dims[1];
  };
  EXPECT_EQ(rest(1), dim("Flatten", {{one, n, m}}, 1));
  EXPECT_EQ(rest(2), rest(2));
  EXPECT_NE(rest(2), rest(4));
}

TEST(Infer, FailsWhereNothingCouldRun) {
  const Table table = open_table();
  const Dim n = {api()->dims_open(table), 0}, three = {3, 3}, four = {4, 4};
  const auto certain = [] { return false; };
  Node node;
  node.op = "MatMul";
  node.inputs = {{LK_F32, {n, three}, {}, false}, {LK_F32, {four, n}, {}, false}};
  EXPECT_EQ(infer(table, node, certain).status, LK_INVALID_ARGUMENT);
  node.inputs[1].shape[0] = n;
  EXPECT_EQ(infer(table, node, certain).status, LK_OK);
  node.inputs[1].dtype = LK_I64;
  EXPECT_EQ(infer(table, node, certain).status, LK_UNSUPPORTED);
  node.op = "Mystery";
  EXPECT_EQ(infer(table, node, certain).status, LK_UNSUPPORTED);
}

// Every row: inputs of one letter refuse different types, with a sentence that names both.
TEST(Infer, InputsOfOneLetterHaveOneType) {
  const Table table = open_table();
  int refused = 0;
  for (uint32_t i = 0; api()->op_row(i) != nullptr; i++) {
    const lk_op_row &row = *api()->op_row(i);
    SCOPED_TRACE(row.op_type);
    const std::string letters = row.input_types;
    const uint32_t count = std::max(row.min_inputs, std::min(row.max_inputs, 2u));
    const auto letter = [&](size_t k) { return letters[std::min(k, letters.size() - 1)]; };
    for (uint32_t k = 1; k < count; k++) {
      if (letter(k) != letter(0)) continue;
      const uint32_t set = row.types[letter(0) - 'T'];
      if (set != 0 && (set & (set - 1)) == 0) continue; // one type alone: another is not supported
      Node node;
      node.op = row.op_type;
      node.opset = std::max(13, row.since);
      node.ints["axis"] = {0};
      node.inputs.resize(count);
      for (Input &input : node.inputs) input.shape = Shape(1, Dim{2, 2});
      node.inputs[k].dtype = LK_F64;
      EXPECT_EQ(infer(table, node, {}).status, LK_INVALID_ARGUMENT);
      EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("have types f32 and f64"));
      refused++;
    }
  }
  EXPECT_GT(refused, 4);
}

// ---- the rows themselves ----

const lk_op_row *find(const char *op, int32_t opset = 13, const char *domain = "") {
  return api()->op_find(op, domain, opset);
}
bool has(const char *op, uint32_t flag) {
  const lk_op_row *row = find(op, 14);
  return row != nullptr && (row->flags & flag) != 0;
}

// They are searched by halves.
TEST(Rows, AreSortedByName) {
  for (uint32_t i = 1; api()->op_row(i) != nullptr; i++) {
    EXPECT_LE(std::strcmp(api()->op_row(i - 1)->op_type, api()->op_row(i)->op_type), 0)
        << api()->op_row(i - 1)->op_type << " is before " << api()->op_row(i)->op_type;
  }
  for (const char *op : {"", "A", "Addd", "Zzz"}) {
    EXPECT_EQ(api()->op_find(op, "", LK_MAX_OPSET), nullptr) << op;
  }
}

TEST(Rows, AreFoundByNameDomainAndOpset) {
  for (uint32_t i = 0; api()->op_row(i) != nullptr; i++) {
    const lk_op_row *row = api()->op_row(i);
    EXPECT_EQ(row->struct_size, sizeof *row);
    EXPECT_EQ(api()->op_row(i), row) << "static";
    EXPECT_EQ(find(row->op_type, row->since, row->domain), row);
    EXPECT_EQ(find(row->op_type, LK_MAX_OPSET, row->domain), row);
    EXPECT_EQ(find(row->op_type, row->since - 1, row->domain), nullptr);
    EXPECT_EQ(find(row->op_type, LK_MAX_OPSET + 1, row->domain), nullptr);
    EXPECT_EQ(find(row->op_type, row->since, "com.example"), nullptr);
    EXPECT_STRNE(row->input_types, "");
    EXPECT_STRNE(row->output_types, "");
  }
  EXPECT_EQ(find("Relu", 13, "ai.onnx"), find("Relu"));
  EXPECT_EQ(api()->op_find("Relu", nullptr, 13), find("Relu"));
  EXPECT_EQ(find("Mystery"), nullptr);
}

TEST(Rows, HaveTheirFlags) {
  EXPECT_TRUE(has("Conv", LK_OP_WORTH_CLAIMING));
  EXPECT_FALSE(has("Reshape", LK_OP_WORTH_CLAIMING));
  EXPECT_TRUE(has("Shape", LK_OP_SHAPE_ONLY));
  EXPECT_FALSE(has("Gather", LK_OP_SHAPE_ONLY));
  for (const char *op : {"Add", "Mul", "Sum"}) EXPECT_TRUE(has(op, LK_OP_COMMUTATIVE)) << op;
  for (const char *op : {"Sub", "Div", "Pow", "MatMul"}) EXPECT_FALSE(has(op, LK_OP_COMMUTATIVE));
  EXPECT_TRUE(has("Relu", LK_OP_POST_OPS));
  EXPECT_FALSE(has("Softmax", LK_OP_POST_OPS));
  for (const char *op : {"Conv", "ConvTranspose", "MatMul", "Gemm"}) {
    EXPECT_TRUE(has(op, LK_OP_TENSOR_POST_OPS)) << op;
  }
  EXPECT_FALSE(has("MaxPool", LK_OP_TENSOR_POST_OPS));
  EXPECT_TRUE(has("MatMul", LK_OP_COLUMNS));
  EXPECT_FALSE(has("Gemm", LK_OP_COLUMNS)); // it may be transposed
  for (uint32_t i = 0; api()->op_row(i) != nullptr;
       i++) { // none so far; the passes' tests have some
    EXPECT_EQ(api()->op_row(i)->flags & (LK_OP_RANDOM | LK_OP_DATA_DEPENDENT), 0u);
  }
}

TEST(Rows, SayWhatTheyAreFusedAs) {
  const lk_op_row *clip = find("Clip");
  EXPECT_EQ(clip->fusion.kind, uint32_t{LK_POST_CLIP});
  EXPECT_STREQ(clip->fusion.beta.attr, "max");
  EXPECT_EQ(clip->fusion.beta.input, 2u);
  EXPECT_EQ(clip->fusion.beta.input_since, 11);
  EXPECT_EQ(find("HardSigmoid")->fusion.alpha.fallback, 0.2F);
  EXPECT_EQ(find("Swish", 13, "latchkey")->fusion.kind, uint32_t{LK_POST_SWISH});
  EXPECT_EQ(find("Sub")->fusion.kind, uint32_t{LK_POST_SUB});
  EXPECT_EQ(find("Sqrt")->fusion.kind, 0u);
  EXPECT_EQ(find("Dropout")->mode_inputs, uint64_t{1} << 2);
}

// ---- what plans cost ----

TEST(Flops, FollowFromTheShapes) {
  const lk::Context context = lk::open();
  const lk::Executor executor = lk::executor_in(context);
  auto flops = [&](const char *op, const Dims &a, const Dims &b,
                   std::vector<int64_t> transposed = {}) {
    lk_node_input inputs[2] = {};
    lk_tensor tensors[2] = {{lk::desc_of(LK_F32, a), nullptr}, {lk::desc_of(LK_F32, b), nullptr}};
    const lk_attr attr = {"transB", LK_ATTR_INTS, 1, transposed.data()};
    lk_node_desc desc{};
    desc.struct_size = sizeof desc;
    desc.op_type = op;
    desc.output_name = "y";
    desc.opset = 13;
    desc.n_inputs = std::string(op) == "Relu" ? 1 : 2;
    desc.inputs = inputs;
    desc.n_outputs = 1;
    desc.n_attrs = transposed.empty() ? 0 : 1;
    desc.attrs = &attr;
    lk_bind_desc bind{};
    bind.struct_size = sizeof bind;
    bind.inputs = tensors;
    bind.n_inputs = desc.n_inputs;
    bind.n_outputs = 1;
    bind.in_place_input = -1;
    lk::Op made;
    lk::Plan plan;
    lk_plan_info info{};
    info.struct_size = sizeof info;
    LK_EXPECT_OK(api()->op_create(executor, &desc, made.out(), LK_ERR));
    LK_EXPECT_OK(api()->op_bind(made, &bind, plan.out(), LK_ERR));
    LK_EXPECT_OK(api()->plan_info(plan, &info, LK_ERR));
    return info.flops;
  };
  EXPECT_EQ(flops("Conv", {1, 3, 10, 10}, {8, 3, 3, 3}), 2.0 * (8 * 8 * 8) * (3 * 9));
  EXPECT_EQ(flops("ConvTranspose", {1, 3, 10, 10}, {3, 8, 2, 2}), 2.0 * (3 * 100) * (8 * 4));
  EXPECT_EQ(flops("MatMul", {5, 4, 6}, {6, 7}), 2.0 * (5 * 4 * 7) * 6);
  EXPECT_EQ(flops("Gemm", {4, 6}, {7, 6}, {1}), 2.0 * (4 * 7) * 6);
  EXPECT_EQ(flops("Gemm", {0, 6}, {7, 6}, {1}), 0);
  EXPECT_EQ(flops("Relu", {4, 6}, {4, 6}), 0);
}

} // namespace
