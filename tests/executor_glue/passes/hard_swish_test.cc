// Pass "hard_swish": the orderings that exporters write, and what is not a hard swish.
#include "tests/executor_glue/graph/builder.h"

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;

namespace {

struct Pattern {
  float three = 3.0f, low = 0.0f, high = 6.0f, six = 6.0f;
  int ordering = 0;
  int opset = 11;
  bool gate_used_twice = false, gate_is_output = false;
  uint32_t dtype = LK_F32;
  std::vector<int64_t> constant_dims = {};
};

// Returns the number of HardSwish nodes; where one is made, it must be the only node.
size_t found(const Pattern &p) {
  GraphBuilder g;
  g.opset = p.opset;
  const int32_t x = g.input("x", {-1, 4, -1, -1}, p.dtype);
  const int32_t shifted = g.node("Add", {x, g.floats(p.constant_dims, {p.three})});
  const int32_t gate =
      p.opset >= 11
          ? g.node("Clip", {shifted, g.scalar(p.low), g.scalar(p.high)})
          : g.node("Clip", {shifted}, {Attr::Float("min", p.low), Attr::Float("max", p.high)});
  const int32_t six = g.floats(p.constant_dims, {p.six});
  const int32_t sixth = g.floats(p.constant_dims, {1.0f / p.six});
  int32_t y = LK_NO_VALUE;
  switch (p.ordering) {
  case 0:
    y = g.node("Div", {g.node("Mul", {x, gate}), six});
    break;
  case 1:
    y = g.node("Mul", {g.node("Mul", {gate, x}), sixth});
    break;
  case 2:
    y = g.node("Mul", {x, g.node("Div", {gate, six})});
    break;
  case 3:
    y = g.node("Mul", {g.node("Mul", {sixth, gate}), x});
    break;
  case 4:
    y = g.node("Mul", {g.node("Div", {x, six}), gate});
    break;
  default:
    y = g.node("Div", {six, g.node("Mul", {x, gate})});
    break; // upside down
  }
  g.output(y);
  if (p.gate_used_twice) g.output(g.node("Relu", {gate}));
  if (p.gate_is_output) g.output(gate);
  const uint64_t changes = changes_of(g, "hard_swish");
  EXPECT_EQ(changes, g.count("HardSwish"));
  if (changes > 0) {
    EXPECT_EQ(g->n_nodes, 1u);
    EXPECT_EQ(g.producer(y)->inputs[0], x);
    EXPECT_EQ(g.producer(y)->opset, 14);
    EXPECT_EQ(g->values[x].n_uses, 1u);
  }
  return changes;
}

TEST(PassHardSwish, EveryOrderingAtEveryFormOfClip) {
  for (int ordering = 0; ordering < 5; ordering++) {
    for (int opset : {9, 11, 13}) {
      Pattern p;
      p.ordering = ordering;
      p.opset = opset;
      EXPECT_EQ(found(p), 1u) << ordering << " at opset " << opset;
      p.constant_dims = {1};
      EXPECT_EQ(found(p), 1u) << ordering << " at opset " << opset;
    }
  }
}

TEST(PassHardSwish, OtherNumbersAreNotIt) {
  Pattern p;
  p.three = 2.5f;
  EXPECT_EQ(found(p), 0u);
  p = {}, p.low = -1.0f;
  EXPECT_EQ(found(p), 0u);
  p = {}, p.high = 5.0f;
  EXPECT_EQ(found(p), 0u);
  p = {}, p.six = 6.01f;
  EXPECT_EQ(found(p), 0u);
  p = {}, p.ordering = 5;
  EXPECT_EQ(found(p), 0u);
}

TEST(PassHardSwish, SecondUseOutputTypeAndRankKeepTheNodes) {
  Pattern p;
  p.gate_used_twice = true;
  EXPECT_EQ(found(p), 0u);
  p = {}, p.gate_is_output = true;
  EXPECT_EQ(found(p), 0u);
  p = {}, p.dtype = LK_F64;
  EXPECT_EQ(found(p), 0u);
  p = {}, p.constant_dims = {1, 1, 1, 1, 1}; // raises the rank
  EXPECT_EQ(found(p), 0u);
}

TEST(PassHardSwish, AnotherValueTimesTheGateIsNotIt) {
  GraphBuilder g;
  const int32_t x = g.input("x", {4}), z = g.input("z", {4});
  const int32_t gate = g.node("Clip", {g.node("Add", {x, g.scalar(3)}), g.scalar(0), g.scalar(6)});
  g.output(g.node("Div", {g.node("Mul", {z, gate}), g.scalar(6)}));
  EXPECT_EQ(changes_of(g, "hard_swish"), 0u);
}

TEST(PassHardSwish, HardSigmoidForm) {
  auto count = [](float alpha, float beta, float factor) {
    GraphBuilder g;
    const int32_t x = g.input("x", {4});
    int32_t gate =
        g.node("HardSigmoid", {x}, {Attr::Float("alpha", alpha), Attr::Float("beta", beta)});
    if (factor != 1.0f) gate = g.node("Mul", {gate, g.scalar(factor)});
    g.output(g.node("Mul", {gate, x}));
    return changes_of(g, "hard_swish");
  };
  EXPECT_EQ(count(1.0f / 6.0f, 0.5f, 1.0f), 1u);
  EXPECT_EQ(count(0.2f, 0.5f, 1.0f), 0u);
  EXPECT_EQ(count(1.0f / 6.0f, 0.4f, 1.0f), 0u);
  EXPECT_EQ(count(1.0f / 6.0f, 0.5f, 2.0f), 0u);
}

TEST(PassHardSwish, RunTimeBoundsKeepTheNodes) {
  GraphBuilder g;
  const int32_t x = g.input("x", {4}), high = g.input("high", {});
  const int32_t gate = g.node("Clip", {g.node("Add", {x, g.scalar(3)}), g.scalar(0), high});
  g.output(g.node("Div", {g.node("Mul", {x, gate}), g.scalar(6)}));
  EXPECT_EQ(changes_of(g, "hard_swish"), 0u);
}

TEST(PassHardSwish, TableWithoutTheOperatorChangesNothing) {
  lk_api api = *lk::test_api();
  api.op_find = [](const char *op_type, const char *domain, int32_t opset) {
    return std::string(op_type) == "HardSwish" ? nullptr : lk::test_op_find(op_type, domain, opset);
  };
  GraphBuilder g;
  uint64_t changes = 0;
  const int32_t x = g.input("x", {4});
  g.output(g.node("Mul", {x, g.node("HardSigmoid", {x}, {Attr::Float("alpha", 1.0f / 6.0f)})}));
  LK_ASSERT_OK(g.link());
  LK_ASSERT_OK(lk::run_pass(g, "hard_swish", &changes, &api));
  EXPECT_EQ(changes, 0u);
}

TEST(PassHardSwish, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    uint64_t changes = 0;
    const int32_t x = g.input("x", {4});
    const int32_t gate =
        g.node("Clip", {g.node("Add", {x, g.scalar(3)}), g.scalar(0), g.scalar(6)});
    g.output(g.node("Div", {g.node("Mul", {x, gate}), g.scalar(6)}));
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "hard_swish", &changes);
  });
}

} // namespace
