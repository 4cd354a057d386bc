// Post-op chains of every operator that takes them: each kind alone, random chains with operands of
// every shape that broadcasts, in both layouts.
#include <map>

#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

namespace {

using lk::Dims;
using lk::Draw;
using lk::OpTester;
using lk::random;
using lk::Value;

struct Base {
  const char *op;
  int32_t opset;
  std::function<void(OpTester *, const Value &x, lk_layout layout)> add;
  std::function<Value(const Value &x)> compute;
  std::string name = {}; // of the test, where it is not `op`
};

void PrintTo(const Base &base, std::ostream *out) {
  *out << base.op;
}

Value weights() {
  return random({4, 3, 1, 1}, 11);
}
const lk::ref::Window ONE = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
const lk::ref::Window TWO = {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};

void plain_input(OpTester *tester, const Value &x, lk_layout layout) {
  tester->input(x, layout);
}

void window_of_two(OpTester *tester, const Value &x, lk_layout layout) {
  tester->input(x, layout).attr_ints("kernel_shape", {2, 2}).attr_ints("strides", {2, 2});
}

// X is 2x3x4x6.
const std::vector<Base> &bases() {
  static const Value ones = lk::floats({2, 3, 4, 6}, std::vector<float>(144, 1));
  static const Value channel = random({3}, 12, 0.5F, 1);
  static const std::vector<Base> all = {
      {.op = "Conv",
       .opset = 11,
       .add = [](OpTester *t, const Value &x,
                 lk_layout layout) { t->input(x, layout).constant(weights()); },
       .compute = [](const Value &x) { return lk::ref::conv(x, weights(), nullptr, ONE, 1); }},
      {.op = "Conv",
       .opset = 11,
       .add =
           [](OpTester *t, const Value &x, lk_layout layout) {
             t->input(x, layout).constant(random({3, 1, 2, 2}, 11)).attr("group", 3);
             t->attr_ints("strides", {2, 2});
           },
       .compute =
           [](const Value &x) {
             return lk::ref::conv(x, random({3, 1, 2, 2}, 11), nullptr, TWO, 3);
           },
       .name = "DepthwiseConv"},
      {.op = "ConvTranspose",
       .opset = 11,
       .add =
           [](OpTester *t, const Value &x, lk_layout layout) {
             t->input(x, layout).constant(random({3, 4, 2, 2}, 11)).attr_ints("strides", {2, 2});
           },
       .compute =
           [](const Value &x) {
             return lk::ref::conv_transpose(x, random({3, 4, 2, 2}, 11), nullptr, TWO, 1, {8, 12});
           }},
      {.op = "NhwcConv",
       .opset = 1,
       .add =
           [](OpTester *t, const Value &x, lk_layout layout) {
             t->domain("com.microsoft").input(x, layout).constant(random({4, 1, 1, 6}, 11));
           },
       .compute =
           [](const Value &x) {
             const Value w = lk::tensor<float>({4, 6}, random({4, 1, 1, 6}, 11).as<float>());
             return lk::ref::matmul(x, lk::ref::transposed(w));
           }},
      {.op = "MaxPool",
       .opset = 12,
       .add = window_of_two,
       .compute =
           [](const Value &x) {
             return lk::ref::pool(x, lk::ref::Pool::MAX, TWO, {2, 3});
           }},
      {.op = "AveragePool",
       .opset = 12,
       .add = window_of_two,
       .compute =
           [](const Value &x) {
             return lk::ref::pool(x, lk::ref::Pool::MEAN, TWO, {2, 3});
           }},
      {.op = "GlobalAveragePool",
       .opset = 7,
       .add = plain_input,
       .compute =
           [](const Value &x) {
             return lk::ref::pool(x, lk::ref::Pool::MEAN, {{4, 6}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
                                  {1, 1});
           }},
      {.op = "MatMul",
       .opset = 13,
       .add =
           [](OpTester *t, const Value &x, lk_layout layout) {
             t->input(x, layout).constant(random({6, 5}, 11));
           },
       .compute =
           [](const Value &x) {
             return lk::ref::matmul(x, random({6, 5}, 11));
           }},
      {.op = "Relu",
       .opset = 14,
       .add = plain_input,
       .compute =
           [](const Value &x) {
             return lk::ref::apply(x, {LK_POST_RELU, -1, 0, 0});
           }},
      {.op = "Sigmoid",
       .opset = 13,
       .add = plain_input,
       .compute =
           [](const Value &x) {
             return lk::ref::apply(x, {LK_POST_SIGMOID, -1, 0, 0});
           }},
      {.op = "Clip",
       .opset = 7,
       .add =
           [](OpTester *t, const Value &x, lk_layout layout) {
             t->input(x, layout).attr_float("min", -0.5F).attr_float("max", 0.5F);
           },
       .compute =
           [](const Value &x) {
             return lk::ref::apply(x, {LK_POST_CLIP, -1, -0.5F, 0.5F});
           }},
      {.op = "Add",
       .opset = 14,
       .add = [](OpTester *t, const Value &x,
                 lk_layout layout) { t->input(x, layout).input(ones, layout); },
       .compute =
           [](const Value &x) {
             return lk::ref::apply(x, {LK_POST_ADD, 0, 0, 0}, &ones);
           }},
      {.op = "Mul",
       .opset = 14,
       .add = [](OpTester *t, const Value &x,
                 lk_layout layout) { t->input(x, layout).constant(lk::floats({}, {3})); },
       .compute =
           [](const Value &x) {
             return lk::ref::apply(x, {LK_POST_LINEAR, -1, 3, 0});
           }},
      {.op = "Sum",
       .opset = 13,
       .add = [](OpTester *t, const Value &x,
                 lk_layout layout) { t->input(x, layout).input(ones, layout).input(ones, layout); },
       .compute =
           [](const Value &x) {
             return lk::ref::apply(x, {LK_POST_LINEAR, -1, 1, 2});
           }},
      {.op = "BatchNormalization",
       .opset = 15,
       .add =
           [](OpTester *t, const Value &x, lk_layout layout) {
             t->input(x, layout).attr_float("epsilon", 0);
             for (int i = 0; i < 4; i++) t->constant(channel);
           },
       .compute =
           [](const Value &x) {
             const std::vector<float> c = channel.as<float>();
             std::vector<double> out;
             size_t i = 0;
             const std::vector<float> v = x.as<float>();
             lk::ref::each(x.dims(), [&](const Dims &at) {
               const auto s = static_cast<double>(c[static_cast<size_t>(at[1])]);
               out.push_back((static_cast<double>(v[i++]) - s) / std::sqrt(s) * s + s);
             });
             return lk::ref::make(x.dims(), out);
           }},
  };
  return all;
}

const lk_post_op FUNCTIONS[] = {
    {LK_POST_RELU, -1, 0, 0},
    {LK_POST_RELU, -1, 0.1F, 0},
    {LK_POST_CLIP, -1, -0.25F, 0.5F},
    {LK_POST_SIGMOID, -1, 0, 0},
    {LK_POST_HARDSIGMOID, -1, 0.2F, 0.5F},
    {LK_POST_HARDSWISH, -1, 0, 0},
    {LK_POST_SWISH, -1, 1, 0},
    {LK_POST_SWISH, -1, 1.5F, 0},
    {LK_POST_LINEAR, -1, 2, -0.5F},
    {LK_POST_QUOTIENT, -1, 3, 0},
    {LK_POST_GELU, -1, 0, 0},
    {LK_POST_GELU_TANH, -1, 0, 0},
    {LK_POST_TANH, -1, 0, 0},
    {LK_POST_MISH, -1, 0, 0},
};

struct Link {
  lk_post_op op;
  Value operand;
};

// Of the operator's own, before those of its post-ops.
int32_t n_inputs_of(const std::string &op) {
  static const std::map<std::string, int32_t> more = {
      {"Add", 2},    {"BatchNormalization", 5}, {"Conv", 2}, {"ConvTranspose", 2}, {"Mul", 2},
      {"MatMul", 2}, {"NhwcConv", 2},           {"Sum", 3}};
  const auto found = more.find(op);
  return found != more.end() ? found->second : 1;
}

void check(const Base &base, const std::vector<Link> &chain, lk_layout layout, lk_layout wish,
           bool constant) {
  const Value x = random({2, 3, 4, 6}, 5);
  OpTester tester(base.op, base.opset);
  base.add(&tester, x, layout);
  const std::string op = base.op;
  int32_t next = n_inputs_of(op);
  Value y = base.compute(x);
  std::string text = op;
  for (const Link &link : chain) {
    const bool binary = LK_POST_OP_IS_BINARY(link.op.kind);
    if (binary) {
      const bool full = link.operand.dims() == y.dims();
      if (constant)
        tester.constant(link.operand);
      else
        tester.input(link.operand, full ? layout : LK_LAYOUT_PLAIN);
    }
    text += " " + std::to_string(link.op.kind) + (binary ? lk::text_of(link.operand.dims()) : "");
    tester.post_op(static_cast<lk_post_op_kind>(link.op.kind), link.op.alpha, link.op.beta,
                   binary ? next++ : -1);
    y = lk::ref::apply(y, link.op, &link.operand);
  }
  SCOPED_TRACE(text + (layout == LK_LAYOUT_PLAIN ? " plain" : " channels-last"));
  tester.wish(wish).expect(y).run();
}

class PostOps : public ::testing::TestWithParam<Base> {};

TEST_P(PostOps, TakesEveryFunction) {
  for (const lk_post_op &op : FUNCTIONS) {
    check(GetParam(), {{op, Value()}}, LK_LAYOUT_PLAIN, LK_LAYOUT_ANY, true);
    check(GetParam(), {{op, Value()}}, LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_ANY, true);
    if (HasFatalFailure()) return;
  }
}

// Shapes that broadcast to `full`: the whole, one per channel, single values, rows, other patterns.
Dims operand_dims(Draw &draw, const Dims &full) {
  Dims dims = full;
  switch (draw.in(0, 6)) {
  case 0:
    return {};
  case 1:
    return {1, full[1], 1, 1};
  case 2:
    return {full[1], 1, 1};
  case 3:
    return {full[3]};
  case 4:
    for (int64_t &dim : dims) dim = draw.maybe() ? dim : 1;
    return dims;
  default:
    return full;
  }
}

TEST_P(PostOps, TakesChainsOfEveryKind) {
  Draw draw(static_cast<unsigned>(std::string(GetParam().op).size()));
  const Dims full = GetParam().compute(random({2, 3, 4, 6}, 5)).dims();
  for (int i = 0; i < 14; i++) {
    std::vector<Link> chain;
    for (int64_t n = draw.in(1, 3); n > 0; n--) {
      if (draw.maybe()) {
        chain.push_back({FUNCTIONS[draw.in(0, 8)], Value()});
      } else {
        const uint32_t kinds[] = {LK_POST_ADD, LK_POST_MUL, LK_POST_SUB, LK_POST_DIV,
                                  LK_POST_ADD_SCALED};
        const lk_post_op op = {kinds[draw.in(0, 4)], 0, 0.75F, 0};
        chain.push_back({op, random(operand_dims(draw, full), draw.seed(), 0.5F, 2)});
      }
    }
    check(GetParam(), chain, draw.layout(4), draw.wish(4), draw.maybe());
    if (HasFatalFailure()) return;
  }
}

TEST_P(PostOps, RefusesAnOperandThatDoesNotBroadcast) {
  OpTester tester(GetParam().op, GetParam().opset);
  const Value x = random({2, 3, 4, 6}, 5);
  GetParam().add(&tester, x, LK_LAYOUT_PLAIN);
  const int32_t next = n_inputs_of(GetParam().op);
  for (const Value &operand : {random({7}, 1), random({5, 2, 3, 4, 6}, 1), lk::ints({1})}) {
    OpTester bad = tester;
    bad.input(operand).post_op(LK_POST_ADD, 0, 0, next).expect_bind(LK_INVALID_ARGUMENT, "post-op");
  }
  OpTester absent = tester;
  absent.absent().post_op(LK_POST_ADD, 0, 0, next).expect_bind(LK_INVALID_ARGUMENT, "post-op");
  OpTester none = tester;
  none.post_op(LK_POST_ADD, 0, 0, next).expect_create(LK_INVALID_ARGUMENT, "post-op 0");
  OpTester extra = tester;
  extra.post_op(LK_POST_RELU, 0, 0, 0).expect_create(LK_INVALID_ARGUMENT, "post-op 0");
  OpTester unknown = tester;
  unknown.post_op(static_cast<lk_post_op_kind>(99)).expect_create(LK_INVALID_ARGUMENT, "kind 99");
}

// More than one program takes.
// A plan of a new size may be made of one that is there, and then is looked at as one that is
// built.
TEST(PostOpsOf, NewSizesRefuseOperandsThatDoNotBroadcast) {
  const lk::Context context = lk::open(LK_CACHE_SHARED);
  const lk::Executor executor = lk::executor_in(context);
  for (const char *op : {"Relu", "GlobalAveragePool", "Conv"}) {
    SCOPED_TRACE(op);
    lk::TestNode node;
    node.op = op;
    node.n_inputs = uint32_t(n_inputs_of(op)) + 1;
    node.post_ops = {{LK_POST_ADD, int32_t(node.n_inputs) - 1, 0, 0}};
    lk::Op made;
    LK_ASSERT_OK(node.create(executor, &made, LK_ERR));
    const auto bind = [&](int64_t batch, const lk::Dims &operand, lk::Plan *plan) {
      std::vector<lk_tensor_desc> inputs = {lk::desc_of(LK_F32, {batch, 3, 4, 6})};
      if (node.n_inputs == 3) inputs.push_back(lk::desc_of(LK_F32, {3, 3, 2, 2}));
      inputs.push_back(lk::desc_of(LK_F32, operand));
      return lk::bind(made, inputs, plan, LK_ERR);
    };
    for (int64_t batch = 2; batch < 6; batch++) {
      lk::Plan plan;
      LK_ASSERT_OK(bind(batch, {3, 1, 1}, &plan));
    }
    for (const lk::Dims &operand : {lk::Dims{5, 1, 1}, lk::Dims{2, 1, 3, 1, 1}}) {
      lk::Plan plan;
      LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, bind(7, operand, &plan));
      EXPECT_EQ(plan.get(), nullptr);
    }
  }
}

TEST(PostOpsOf, AnyNumber) {
  const Value x = random({2, 3, 4, 5}, 1);
  for (const char *op : {"Relu", "MatMul"}) {
    const bool is_relu = std::string(op) == "Relu";
    OpTester tester(op, 13);
    tester.input(x);
    Value y = is_relu ? lk::ref::apply(x, {LK_POST_RELU, -1, 0, 0})
                      : lk::ref::matmul(x, random({5, 6}, 2));
    if (!is_relu) tester.constant(random({5, 6}, 2));
    int32_t next = is_relu ? 1 : 2;
    for (int i = 0; i < 32; i++) {
      if (i % 2 == 0) {
        tester.post_op(LK_POST_LINEAR, 0.9F, 0.1F);
        y = lk::ref::apply(y, {LK_POST_LINEAR, -1, 0.9F, 0.1F});
      } else {
        const Value operand = random(i % 4 == 1 ? y.dims() : Dims{3, 1, 1}, unsigned(i));
        tester.input(operand).post_op(LK_POST_SUB, 0, 0, next++);
        y = lk::ref::apply(y, {LK_POST_SUB, 0, 0, 0}, &operand);
      }
    }
    tester.expect(y).run();
  }
}

TEST(PostOpsOf, AreRefusedOnIntegers) {
  const Value x = lk::iota<int32_t>({3});
  OpTester("Add", 14).input(x).input(x).post_op(LK_POST_RELU).expect_bind(LK_UNSUPPORTED, "i32");
}

std::string name_of(const ::testing::TestParamInfo<Base> &info) {
  return info.param.name.empty() ? info.param.op : info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Rows, PostOps, ::testing::ValuesIn(bases()), name_of);

} // namespace
