// The shape rules of every row before all is known, against themselves when it is: random nodes
// whose dimensions are partly symbols, in one table, are inferred once with the symbols and once
// with numbers in their place. What was certain must come out so, and a symbol must always stand
// for one number.
#include <cstring>

#include "tests/ops/infer/rules.h"

extern "C" {
#include "base/alloc.h"
#include "base/tensor.h"
}

namespace {

using lk::api;
using lk::Dims;
using lk::infer::Described;
using lk::infer::Dim;
using lk::infer::Draw;
using lk::infer::Input;
using lk::infer::Node;
using lk::infer::open_table;
using lk::infer::rules;
using lk::infer::Shape;
using lk::infer::Table;

struct Answer {
  lk_status status = LK_OK;
  std::vector<lk_tensor_desc> outputs;
  int32_t copy_of = -1;
};

// `hide`: whether something that may be unknown is; every dimension as a number when it is empty.
Answer infer(lk_dims *table, const Node &node, const std::function<bool()> &hide) {
  std::vector<lk_tensor> inputs(node.inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    const Input &from = node.inputs[i];
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
  const Described described(node);
  Answer answer;
  answer.outputs.resize(node.n_outputs);
  answer.status = api()->op_infer(table, &described.desc, inputs.data(), answer.outputs.data(),
                                  &answer.copy_of, LK_ERR);
  return answer;
}

// What terms stand for, as far as outputs have told.
using Meaning = std::map<int64_t, int64_t>;

// `follows_from_data`: outputs' dimensions may.
void compare(const Answer &before, const Answer &after, bool follows_from_data, Meaning *meaning) {
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
      if (is.dims[d] < 0) { // follows from data
        EXPECT_TRUE(follows_from_data);
        EXPECT_LT(was.dims[d], 0);
        continue;
      }
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
        const bool open = (api()->op_row(row)->flags & LK_OP_DATA_DEPENDENT) != 0;
        compare(before, after, open, &meaning);
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
  node.inputs[1].dtype = LK_I16;
  EXPECT_EQ(infer(table, node, certain).status, LK_UNSUPPORTED);
  node.op = "Mystery";
  EXPECT_EQ(infer(table, node, certain).status, LK_UNSUPPORTED);
  node = {};
  node.op = "Relu";
  const Dim most = {INT64_MAX / 8, INT64_MAX / 8};
  node.inputs = {{LK_F32, {n, most, four}, {}, false}}; // whatever n is
  EXPECT_EQ(infer(table, node, certain).status, LK_OUT_OF_RANGE);
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("input 0"));
}

TEST(Infer, ShowsTheLossesOfAllClasses) {
  const Table table = open_table();
  const Dim n = {api()->dims_open(table), 0}, three = {3, 3};
  Node node;
  node.op = "SoftmaxCrossEntropyLoss";
  node.inputs = {{LK_F32, {n, three}, {}, false}, {LK_I64, {n}, {}, false}};
  node.n_outputs = 2;
  const Answer answer = infer(table, node, [] { return false; });
  ASSERT_EQ(answer.status, LK_OK) << LK_MESSAGE;
  EXPECT_EQ(answer.outputs[0].rank, 0u);
  ASSERT_EQ(answer.outputs[1].rank, 2u);
  EXPECT_EQ(answer.outputs[1].dims[0], n.symbol);
  EXPECT_EQ(answer.outputs[1].dims[1], 3);
}

TEST(Infer, CountsBlocksWhereBothSidesAreKnown) {
  const Table table = open_table();
  const Dim n = {api()->dims_open(table), 0}, m = {api()->dims_open(table), 0};
  const Dim two = {2, 2}, three = {3, 3}, four = {4, 4};
  const auto status = [&](Dim elements, Dim blocks) {
    Node node;
    node.op = "QuantizeLinear";
    node.opset = 21;
    node.ints = {{"axis", {1}}, {"block_size", {2}}};
    node.inputs = {{LK_F32, {n, elements}, {}, false}, {LK_F32, {n, blocks}, {}, false}};
    return infer(table, node, [] { return false; }).status;
  };
  EXPECT_EQ(status(four, two), LK_OK);
  EXPECT_EQ(status(four, three), LK_INVALID_ARGUMENT);
  EXPECT_EQ(status(three, two), LK_UNSUPPORTED); // a part of a block
  EXPECT_EQ(status(four, m), LK_OK);
  EXPECT_EQ(status(m, three), LK_OK);
  EXPECT_EQ(status(m, n), LK_OK);
}

TEST(Infer, TransformsUpTo31BitsOfNumbers) {
  const Table table = open_table();
  const auto answer = [&](int64_t length) {
    Node node;
    node.op = "DFT";
    node.opset = 20;
    Input count;
    count.dtype = LK_I64;
    count.bytes.resize(sizeof length);
    std::memcpy(count.bytes.data(), &length, sizeof length);
    node.inputs = {{LK_F32, {{3, 3}, {4, 4}, {1, 1}}, {}, false}, count};
    return infer(table, node, [] { return false; });
  };
  for (const int64_t length : {int64_t(1), int64_t(INT32_MAX)}) {
    const Answer taken = answer(length);
    ASSERT_EQ(taken.status, LK_OK) << LK_MESSAGE;
    EXPECT_EQ(taken.outputs[0].dims[1], length);
  }
  for (const int64_t length : {int64_t(-1), int64_t(0), int64_t(INT32_MAX) + 1}) {
    EXPECT_EQ(answer(length).status, LK_OUT_OF_RANGE) << length;
    EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("must be 1 to 2^31 - 1"));
  }
}

// The attributes that a node of the row must have.
void give_required(const lk_op_row &row, Node *node) {
  for (uint32_t i = 0; i < row.n_attrs; i++) {
    const lk_op_attr &attr = row.attrs[i];
    const std::string name = attr.name, texts = attr.texts != nullptr ? attr.texts : "i,i";
    const bool holds = attr.since <= node->opset && (attr.until == 0 || node->opset <= attr.until);
    if (attr.is_required == 0 || !holds) continue;
    if (attr.type == LK_ATTR_STRING) {
      node->texts[name] = texts.substr(0, texts.find('|'));
    } else {
      node->ints[name] = std::vector<int64_t>(attr.is_list != 0 ? 2 : 1, 1);
      if (name == "block_size") node->ints[name] = {16};
    }
  }
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
    const auto name = [](uint32_t dtype) { return std::string(lk_dtype_name(dtype)); };
    const auto letter = [&](size_t k) { return letters[std::min(k, letters.size() - 1)]; };
    for (uint32_t k = 1; k < count; k++) {
      if (letter(k) != letter(0) || letter(k) == '?') continue;
      const uint32_t set = row.types[letter(0) - 'T'];
      if (set != 0 && (set & (set - 1)) == 0) continue; // one type alone: another is not supported
      // two types of the set
      const uint32_t all = set != 0 ? set : LK_TYPE(LK_F32) | LK_TYPE(LK_F64);
      const uint32_t one = uint32_t(__builtin_ctz(all)),
                     two = uint32_t(__builtin_ctz(all & (all - 1)));
      Node node;
      node.op = row.op_type;
      node.domain = row.domain;
      node.opset = std::max(13, row.since);
      give_required(row, &node);
      node.inputs.resize(count);
      for (size_t n = 0; n < count; n++) {
        const uint32_t others = letter(n) == '?' ? 0 : row.types[letter(n) - 'T'];
        node.inputs[n].shape = Shape(1, Dim{2, 2});
        if (letter(n) == letter(0)) {
          node.inputs[n].dtype = one;
        } else if (others != 0 && (others & LK_TYPE(LK_F32)) == 0) {
          node.inputs[n].dtype = uint32_t(__builtin_ctz(others));
        }
      }
      node.inputs[k].dtype = two;
      EXPECT_EQ(infer(table, node, {}).status, LK_INVALID_ARGUMENT);
      EXPECT_THAT(LK_MESSAGE,
                  ::testing::HasSubstr("are of types " + name(one) + " and " + name(two)));
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
  std::string data_dependent, random;
  for (uint32_t i = 0; api()->op_row(i) != nullptr; i++) {
    const lk_op_row &row = *api()->op_row(i);
    if ((row.flags & LK_OP_RANDOM) != 0) random += std::string(row.op_type) + " ";
    if ((row.flags & LK_OP_DATA_DEPENDENT) != 0) data_dependent += std::string(row.op_type) + " ";
  }
  EXPECT_EQ(random, "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform "
                    "RandomUniformLike ");
  EXPECT_EQ(data_dependent, "Compress NonMaxSuppression NonZero Unique ");
}

TEST(Rows, SayWhatTheyAreFusedAs) {
  const lk_op_row *clip = find("Clip");
  EXPECT_EQ(clip->fusion.kind, uint32_t{LK_POST_CLIP});
  EXPECT_STREQ(clip->fusion.beta.attr, "max");
  EXPECT_EQ(clip->fusion.beta.input, 2u);
  EXPECT_EQ(clip->fusion.beta.input_since, 11);
  EXPECT_STREQ(find("HardSigmoid")->fusion.alpha.attr, "alpha");
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
