// Pass "activation": activations and arithmetic with one number become post-ops.
#include "tests/executor_glue/graph/builder.h"

#include <cfloat>
#include <cmath>

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;

namespace {

// A Conv, and what the test puts behind it; `node` is what makes the output afterwards.
struct Result {
  uint64_t changes;
  size_t n_nodes;
  std::string op_type;
  std::vector<lk_post_op> post_ops;
};
template <typename Behind>
Result behind_conv(Behind behind, int opset = 14, uint32_t dtype = LK_F32) {
  GraphBuilder g;
  g.opset = opset;
  const int32_t x = g.input("x", {1, 2, -1, -1}, dtype);
  const int32_t y = behind(g, g.node("Conv", {x, g.filled({2, 2, 1, 1}, 1.0f)}));
  g.output(y);
  Result r = {};
  r.changes = changes_of(g, "activation");
  r.n_nodes = g->n_nodes;
  const lk_node *node = g.producer(y);
  r.op_type = node->op_type;
  r.post_ops.assign(node->post_ops, node->post_ops + node->n_post_ops);
  return r;
}

void expect_one(const Result &r, uint32_t kind, float alpha, float beta) {
  EXPECT_EQ(r.n_nodes, 1u);
  EXPECT_EQ(r.op_type, "Conv");
  ASSERT_EQ(r.post_ops.size(), 1u);
  EXPECT_EQ(r.post_ops[0].kind, kind);
  EXPECT_EQ(r.post_ops[0].input, -1);
  EXPECT_EQ(r.post_ops[0].alpha, alpha);
  EXPECT_EQ(r.post_ops[0].beta, beta);
}

// Post-ops compute in f32.
TEST(PassActivation, OtherTypesStayNodes) {
  for (const uint32_t dtype : {LK_F32, LK_F64, LK_F16, LK_BF16, LK_I8, LK_I32, LK_I64}) {
    for (const char *op : {"Relu", "Sigmoid", "LeakyRelu", "HardSwish", "Clip"}) {
      GraphBuilder g;
      g.opset = 14;
      const int32_t x = g.input("x", {2, 4}, dtype);
      g.output(g.node(op, {g.node("Add", {x, x})}));
      EXPECT_EQ(changes_of(g, "activation"), dtype == LK_F32 ? 1u : 0u) << op << " of " << dtype;
    }
  }
}

TEST(PassActivation, EachKind) {
  auto unary = [](const char *op, std::vector<Attr> attrs = {}, const char *domain = "") {
    return behind_conv(
        [&](GraphBuilder &g, int32_t y) { return g.node(op, {y}, attrs, 1, domain); });
  };
  expect_one(unary("Relu"), LK_POST_RELU, 0, 0);
  expect_one(unary("Sigmoid"), LK_POST_SIGMOID, 0, 0);
  expect_one(unary("HardSigmoid"), LK_POST_HARDSIGMOID, 0.2f, 0.5f);
  expect_one(unary("HardSigmoid", {Attr::Float("alpha", 0.25f)}), LK_POST_HARDSIGMOID, 0.25f, 0.5f);
  expect_one(unary("HardSwish"), LK_POST_HARDSWISH, 0, 0);
  expect_one(unary("Swish", {Attr::Float("alpha", 1.5f)}, "latchkey"), LK_POST_SWISH, 1.5f, 0);
  EXPECT_EQ(unary("Swish", {}, "com.example").changes, 0u);
  expect_one(unary("Tanh"), LK_POST_TANH, 0, 0);
  expect_one(unary("Gelu", {}, "latchkey"), LK_POST_GELU, 0, 0);
  expect_one(unary("GeluTanh", {}, "latchkey"), LK_POST_GELU_TANH, 0, 0);
  EXPECT_EQ(unary("Erf").changes, 0u);
}

TEST(PassActivation, ClipBoundsByOpset) {
  expect_one(behind_conv(
                 [](GraphBuilder &g, int32_t y) {
                   return g.node("Clip", {y}, {Attr::Float("min", -1), Attr::Float("max", 2)});
                 },
                 10),
             LK_POST_CLIP, -1, 2);
  auto clip = [](std::vector<float> low, std::vector<float> high) {
    return behind_conv([&](GraphBuilder &g, int32_t y) {
      std::vector<int32_t> inputs = {y, low.empty() ? LK_NO_VALUE : g.scalar(low[0])};
      if (!high.empty()) inputs.push_back(g.scalar(high[0]));
      return g.node("Clip", inputs, {Attr::Float("min", 77)}); // no attribute from 11 on
    });
  };
  expect_one(clip({0}, {6}), LK_POST_CLIP, 0, 6);
  expect_one(clip({0}, {}), LK_POST_CLIP, 0, FLT_MAX);
  expect_one(clip({}, {6}), LK_POST_CLIP, -FLT_MAX, 6);
  EXPECT_EQ(clip({6}, {0}).changes, 0u); // all become max: no range
  EXPECT_EQ(clip({NAN}, {0}).changes, 0u);
  EXPECT_EQ(behind_conv([](GraphBuilder &g, int32_t y) {
              return g.node("Clip", {y, g.input("low", {})});
            }).changes,
            0u);
}

TEST(PassActivation, ArithmeticWithOneNumber) {
  auto op = [](const char *type, float k, bool left, std::vector<int64_t> dims = {}) {
    return behind_conv([&](GraphBuilder &g, int32_t y) {
      const int32_t c = g.floats(dims, {k});
      return left ? g.node(type, {c, y}) : g.node(type, {y, c});
    });
  };
  expect_one(op("Add", 2, false), LK_POST_LINEAR, 1, 2);
  expect_one(op("Add", 2, true, {1}), LK_POST_LINEAR, 1, 2);
  expect_one(op("Sub", 2, false), LK_POST_LINEAR, 1, -2);
  expect_one(op("Sub", 2, true), LK_POST_LINEAR, -1, 2);
  expect_one(op("Mul", 2, true, {1, 1, 1, 1}), LK_POST_LINEAR, 2, 0);
  EXPECT_EQ(op("Div", 2, true).changes, 0u);
  EXPECT_EQ(op("Mul", 2, true, {1, 1, 1, 1, 1}).changes, 0u); // raises the rank
  EXPECT_EQ(op("Mul", INFINITY, true).changes, 0u);
  EXPECT_TRUE(std::signbit(op("Mul", 2, true).post_ops[0].beta)) << "2 * -0 is -0";
  for (const Result &nothing :
       {op("Mul", 1, true), op("Sub", 0, false), op("Add", -0.0f, true), op("Div", 1, false)}) {
    EXPECT_EQ(nothing.n_nodes, 1u);
    EXPECT_TRUE(nothing.post_ops.empty());
  }
  expect_one(op("Add", 0, false), LK_POST_LINEAR, 1, 0); // which makes 0 of -0
  EXPECT_FALSE(std::signbit(op("Add", 0, false).post_ops[0].beta));
  expect_one(op("Sub", -0.0f, false), LK_POST_LINEAR, 1, 0);
}

// A quotient is a product only where that gives the same bits, whatever the number.
TEST(PassActivation, QuotientsStayWhatTheyAre) {
  auto by = [](float k) {
    return behind_conv([&](GraphBuilder &g, int32_t y) { return g.node("Div", {y, g.scalar(k)}); });
  };
  for (const float k : {2.0f, -0.25f, 0x1p100f, 0x1p-126f, -0x1p126f}) {
    expect_one(by(k), LK_POST_LINEAR, 1 / k, 0);
  }
  for (const float k : {3.0f, 15.0f, -41.0f, 0.0f, -0.0f, 0x1p127f, 0x1p-127f, 0x1p-149f, 1e-40f,
                        0x1.8p3f, FLT_MAX, FLT_MIN * 1.5f}) {
    expect_one(by(k), LK_POST_QUOTIENT, k, 0);
  }
}

TEST(PassActivation, ChainsInOrder) {
  const Result r = behind_conv([](GraphBuilder &g, int32_t y) {
    y = g.node("HardSwish", {y});
    y = g.node("Mul", {g.floats({1}, {3}), y});
    y = g.node("Add", {y, g.floats({1}, {5})});
    y = g.node("Mul", {y, g.scalar(2)});
    return g.node("Relu", {y});
  });
  EXPECT_EQ(r.changes, 5u);
  ASSERT_EQ(r.post_ops.size(), 5u);
  EXPECT_EQ(r.post_ops[0].kind, uint32_t{LK_POST_HARDSWISH});
  for (size_t i = 1; i <= 3; i++) EXPECT_EQ(r.post_ops[i].kind, uint32_t{LK_POST_LINEAR});
  EXPECT_EQ(r.post_ops[1].alpha, 3.0f);
  EXPECT_EQ(r.post_ops[2].beta, 5.0f);
  EXPECT_EQ(r.post_ops[3].alpha, 2.0f);
  EXPECT_EQ(r.post_ops[4].kind, uint32_t{LK_POST_RELU});
}

// A product and a sum become one step where the product rounds nothing that the sum could show.
TEST(PassActivation, MergesASumBehindAnExactProduct) {
  auto both = [](float factor, const char *type, float k, bool left = false) {
    return behind_conv([&](GraphBuilder &g, int32_t y) {
      y = g.node("Mul", {y, g.scalar(factor)});
      return left ? g.node(type, {g.scalar(k), y}) : g.node(type, {y, g.scalar(k)});
    });
  };
  expect_one(both(2, "Sub", 1), LK_POST_LINEAR, 2, -1);
  expect_one(both(0.5f, "Add", 0.5f), LK_POST_LINEAR, 0.5f, 0.5f);
  expect_one(both(-4, "Sub", 3, true), LK_POST_LINEAR, 4, 3);
  EXPECT_EQ(both(3, "Add", 1).post_ops.size(), 2u);
  EXPECT_EQ(both(1.5f, "Sub", 1).post_ops.size(), 2u);
  EXPECT_EQ(both(2, "Mul", 2).post_ops.size(), 2u) << "may overflow";
  EXPECT_EQ(both(2, "Add", 0).post_ops.size(), 2u);
  EXPECT_EQ(both(2, "Sub", FLT_MAX).post_ops.size(), 2u) << "2 * 3e38 - 3e38 is infinite";
  EXPECT_EQ(both(0.5f, "Add", 1e-40f).post_ops.size(), 2u);
  EXPECT_EQ(both(0x1p-127f, "Add", 1).post_ops.size(), 2u);
  const Result rounds = behind_conv([](GraphBuilder &g, int32_t y) {
    y = g.node("Add", {y, g.scalar(12582912)});
    return g.node("Sub", {y, g.scalar(12582912)});
  });
  EXPECT_EQ(rounds.post_ops.size(), 2u);
}

TEST(PassActivation, ConditionsThatKeepTheNode) {
  EXPECT_EQ(behind_conv([](GraphBuilder &g, int32_t y) { // used twice
              g.output(g.node("Tanh", {y}));
              return g.node("Relu", {y});
            })
                .changes,
            0u);
  EXPECT_EQ(behind_conv([](GraphBuilder &g, int32_t y) { // an output
              g.output(y);
              return g.node("Relu", {y});
            })
                .changes,
            0u);
  EXPECT_EQ(behind_conv([](GraphBuilder &g, int32_t y) { // the operator takes no post-ops
              return g.node("Relu", {g.node("MaxPool", {y})});
            })
                .changes,
            0u);
  EXPECT_EQ(behind_conv([](GraphBuilder &g, int32_t y) { return g.node("Relu", {y}); }, 14, LK_F64)
                .changes,
            0u);
  EXPECT_EQ(behind_conv([](GraphBuilder &g, int32_t y) { return g.node("Relu", {y}); }, 6).changes,
            0u)
      << "the row begins at opset 7";
}

TEST(PassActivation, IntegerArithmeticIsLeftAlone) {
  GraphBuilder g;
  const int32_t x = g.input("x", {4}, LK_I64);
  g.output(g.node("Relu", {g.node("Add", {x, x})}));
  EXPECT_EQ(changes_of(g, "activation"), 0u);
}

TEST(PassActivation, ChainOfPostOpsIsBounded) {
  const Result r = behind_conv([](GraphBuilder &g, int32_t y) {
    for (int i = 0; i < 30; i++) y = g.node("Sigmoid", {y});
    return y;
  });
  EXPECT_EQ(r.changes, 12u);
}

TEST(PassActivation, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    uint64_t changes = 0;
    const int32_t x = g.input("x", {1, 2, 4, 4});
    g.output(g.node("Relu", {g.node("Conv", {x, g.filled({2, 2, 1, 1}, 1.0f)})}));
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "activation", &changes);
  });
}

} // namespace
