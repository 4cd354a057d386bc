// Pass "known_branches".
#include "tests/executor_glue/graph/builder.h"

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;

namespace {

int32_t truth(GraphBuilder &g, std::vector<uint8_t> values) {
  return g.constant<uint8_t>({int64_t(values.size())}, values, LK_BOOL);
}

// y = If(condition) { x + 1 } else { Relu(x) }
int32_t choice(GraphBuilder &g, int32_t condition, int32_t x) {
  const int32_t y = g.node("If", {condition});
  GraphBuilder then_graph(g->allocator), else_graph(g->allocator);
  const int32_t a = then_graph.input("x", {-1}), b = else_graph.input("x", {-1});
  then_graph.output(then_graph.node("Add", {a, then_graph.filled({3}, 1.0f)}));
  else_graph.output(else_graph.node("Relu", {b}));
  g.body(y, "then_branch", then_graph, {x});
  g.body(y, "else_branch", else_graph, {x});
  return y;
}

TEST(PassKnownBranches, TheBranchThatIsTakenComesIntoTheGraph) {
  for (const uint8_t condition : std::vector<uint8_t>{0, 1, 7}) {
    GraphBuilder g;
    const int32_t x = g.input("x", {-1});
    const int32_t y = choice(g, truth(g, {condition}), x);
    g.output(y);
    EXPECT_EQ(changes_of(g, "known_branches"), 1u);
    EXPECT_EQ(g.count("If"), 0u);
    EXPECT_EQ(g.count("Add"), condition != 0 ? 1u : 0u);
    EXPECT_EQ(g.count("Relu"), condition != 0 ? 0u : 1u);
    const lk_node *copy = g.producer(y);
    ASSERT_STREQ(copy->op_type, "Identity");
    const lk_node *made = g.producer(copy->inputs[0]);
    EXPECT_EQ(made->inputs[0], x);
    if (condition != 0) {
      EXPECT_EQ(g.numbers(made->inputs[1]), std::vector<float>(3, 1.0f));
    }
    EXPECT_EQ(g->values[x].n_uses, 1u);
  }
}

TEST(PassKnownBranches, ConditionsThatARunMayChangeStay) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1}), c = g.input("c", {1}, LK_BOOL);
  const int32_t replaced = truth(g, {1});
  LK_ASSERT_OK(lk_graph_add_input(g.get(), replaced, LK_ERR));
  for (int32_t condition :
       {c, replaced, g.node("Not", {c}), truth(g, {1, 1}), truth(g, {}), g.filled({1}, 1.0f)}) {
    g.output(choice(g, condition, x));
  }
  EXPECT_EQ(changes_of(g, "known_branches"), 0u);
}

TEST(PassKnownBranches, WhatTheFlowRefusesStays) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1}), t = truth(g, {1});
  g.output(choice(g, t, x));
  g->nodes[0].inputs[0] = x;   // no condition
  g.output(g.node("If", {t})); // no branch
  const int32_t two = g.node("If", {t}, {}, 2);
  g.output(two);
  GraphBuilder one;
  one.output(one.node("Relu", {one.input("x", {-1})}));
  g.body(two, "then_branch", one, {x}); // an output too few
  const int32_t given = g.node("If", {t});
  g.output(given);
  GraphBuilder body;
  body.input("i", {});
  body.output(body.node("Relu", {body.input("x", {-1})}));
  g.body(given, "then_branch", body, {x}); // an input that If does not give
  EXPECT_EQ(changes_of(g, "known_branches"), 0u);
}

TEST(PassKnownBranches, ABranchMayGiveWhatItCapturedOrAConstant) {
  GraphBuilder g, then_graph;
  const int32_t x = g.input("x", {-1}), y = g.node("If", {truth(g, {1})}, {}, 3);
  const int32_t inner = then_graph.input("x", {-1}), half = then_graph.filled({1}, 0.5f);
  then_graph.output(inner);
  then_graph.output(half);
  then_graph.output(half);
  g.body(y, "then_branch", then_graph, {x});
  for (int32_t i = 0; i < 3; i++) g.output(y + i);
  EXPECT_EQ(changes_of(g, "known_branches"), 1u);
  EXPECT_EQ(g.producer(y)->inputs[0], x);
  EXPECT_EQ(g.numbers(g.producer(y + 1)->inputs[0]), std::vector<float>{0.5f});
  EXPECT_EQ(g.producer(y + 1)->inputs[0], g.producer(y + 2)->inputs[0]);
}

TEST(PassKnownBranches, BranchesWithinBranchesAreDecidedToo) {
  GraphBuilder g, outer;
  const int32_t x = g.input("x", {-1}), y = g.node("If", {truth(g, {0})});
  outer.output(choice(outer, truth(outer, {1}), outer.input("x", {-1})));
  g.body(y, "else_branch", outer, {x});
  g.output(y);
  EXPECT_EQ(changes_of(g, "known_branches"), 2u);
  EXPECT_EQ(g.count("If"), 0u);
  EXPECT_EQ(g.count("Add"), 1u);
}

TEST(PassKnownBranches, ABranchWithinABranchThatIsNotKnownMovesWithIt) {
  GraphBuilder g, outer;
  const int32_t x = g.input("x", {-1}), c = g.input("c", {1}, LK_BOOL);
  const int32_t y = g.node("If", {truth(g, {1})});
  const int32_t inner_x = outer.input("x", {-1}), inner_c = outer.input("c", {1}, LK_BOOL);
  outer.output(choice(outer, inner_c, inner_x));
  g.body(y, "then_branch", outer, {x, c});
  g.output(y);
  EXPECT_EQ(changes_of(g, "known_branches"), 1u);
  const lk_node *inner = g.producer(g.producer(y)->inputs[0]);
  ASSERT_STREQ(inner->op_type, "If");
  EXPECT_EQ(inner->n_bodies, 2u);
  EXPECT_EQ(std::vector<int32_t>(inner->inputs, inner->inputs + inner->n_inputs),
            (std::vector<int32_t>{c, x, x}));
}

// Names tell nodes apart in the cache.
TEST(PassKnownBranches, NamesStayUnique) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1}), t = truth(g, {1});
  g.value("then_branch/v2");
  for (int i = 0; i < 3; i++) g.output(choice(g, t, x));
  EXPECT_EQ(changes_of(g, "known_branches"), 3u);
  std::vector<std::string> names;
  for (size_t i = 0; i < g->n_values; i++) names.emplace_back(g->values[i].name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(PassKnownBranches, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    if (g.status() != LK_OK) return g.status();
    const int32_t x = g.input("x", {-1}), t = g.status() == LK_OK ? truth(g, {1}) : LK_NO_VALUE;
    if (g.status() == LK_OK) g.output(choice(g, t, x));
    uint64_t changes = 0;
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "known_branches", &changes);
  });
}

} // namespace
