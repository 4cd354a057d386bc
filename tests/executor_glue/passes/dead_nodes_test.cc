// Pass "dead_nodes".
#include "tests/executor_glue/graph/builder.h"

using lk::changes_of;
using lk::GraphBuilder;

namespace {

TEST(PassDeadNodes, WholeUnusedBranchGoes) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  const int32_t a = g.node("Relu", {x}), b = g.node("Relu", {a});
  g.node("Add", {b, g.filled({8}, 1.0f)});
  g.output(a);
  EXPECT_EQ(changes_of(g, "dead_nodes"), 2u);
  EXPECT_EQ(g->n_nodes, 1u);
  EXPECT_EQ(g->values[a].n_uses, 1u);
}

TEST(PassDeadNodes, OneUsedOutputOfTwoKeepsTheNode) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  g.output(g.node("MaxPool", {x}, {}, 2) + 1);
  EXPECT_EQ(changes_of(g, "dead_nodes"), 0u);
}

} // namespace
