// Pass "swish".
#include "tests/executor_glue/graph/builder.h"

using lk::changes_of;
using lk::GraphBuilder;

namespace {

// x * Sigmoid(scale(x)), with `scale` an operator and its constant ("": none).
struct Made {
  uint64_t changes;
  float alpha;
};
Made made(const std::string &scale, float number, float factor = 1.0f, bool twice = false,
          uint32_t dtype = LK_F32) {
  GraphBuilder g;
  const int32_t x = g.input("x", {2, 4}, dtype);
  const int32_t inner = scale.empty() ? x : g.node(scale, {x, g.floats({1}, {number})});
  int32_t gate = g.node("Sigmoid", {inner});
  if (factor != 1.0f) gate = g.node("Mul", {gate, g.scalar(factor)});
  const int32_t y = g.node("Mul", {x, gate});
  g.output(y);
  if (twice) g.output(g.node("Relu", {gate}));
  const uint64_t changes = changes_of(g, "swish");
  if (changes == 0) return {0, 0.0f};
  EXPECT_EQ(g->n_nodes, 1u);
  EXPECT_STREQ(g.producer(y)->domain, "latchkey");
  EXPECT_STREQ(g.producer(y)->op_type, "Swish");
  return {changes, lk_node_attr_float(g.producer(y), "alpha", 0.0f)};
}

TEST(PassSwish, PlainAndScaled) {
  EXPECT_EQ(made("", 0).changes, 1u);
  EXPECT_EQ(made("", 0).alpha, 1.0f);
  EXPECT_EQ(made("Mul", 1.0f).alpha, 1.0f);
  EXPECT_EQ(made("Mul", 1.702f).alpha, 1.702f);
  EXPECT_EQ(made("Div", 2.0f).alpha, 0.5f);
}

TEST(PassSwish, WhatIsNotIt) {
  EXPECT_EQ(made("Add", 1.0f).changes, 0u);
  EXPECT_EQ(made("", 0, 2.0f).changes, 0u);       // a factor besides
  EXPECT_EQ(made("", 0, 1.0f, true).changes, 0u); // the gate is used elsewhere
  for (const uint32_t dtype : {LK_F64, LK_F16, LK_BF16}) {
    EXPECT_EQ(made("", 0, 1.0f, false, dtype).changes, 0u) << dtype;
  }
}

TEST(PassSwish, SqueezeAndExciteIsNotIt) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1, 4, 8, 8});
  const int32_t pooled = g.node("GlobalAveragePool", {x});
  g.output(g.node("Mul", {x, g.node("Sigmoid", {pooled})}));
  EXPECT_EQ(changes_of(g, "swish"), 0u);
}

TEST(PassSwish, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    uint64_t changes = 0;
    const int32_t x = g.input("x", {4});
    g.output(g.node("Mul", {x, g.node("Sigmoid", {x})}));
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "swish", &changes);
  });
}

} // namespace
