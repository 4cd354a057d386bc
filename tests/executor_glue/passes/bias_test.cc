// Pass "bias": a constant vector behind MatMul and Gemm.
#include "tests/executor_glue/graph/builder.h"

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;

namespace {

TEST(PassBias, VectorBehindMatMulOfOpenShape) {
  GraphBuilder g;
  const int32_t x = g.node("Relu", {g.input("x", {-1, -1, 4})});
  const int32_t bias = g.filled({8}, 1.0f);
  const int32_t y = g.node("Add", {bias, g.node("MatMul", {x, g.filled({4, 8}, 1.0f)})});
  g.output(y);
  EXPECT_EQ(changes_of(g, "bias"), 1u);
  const lk_node *node = g.producer(y);
  ASSERT_EQ(node->n_post_ops, 1u);
  EXPECT_EQ(node->post_ops[0].kind, uint32_t{LK_POST_ADD});
  EXPECT_EQ(node->post_ops[0].input, 2);
  ASSERT_EQ(node->n_inputs, 3u);
  EXPECT_EQ(node->inputs[2], bias);
  EXPECT_EQ(g->values[bias].n_uses, 1u);
  EXPECT_STREQ(node->fused, "bias");
}

TEST(PassBias, OperandOfGemmLiesBehindItsOptionalInput) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 4});
  const int32_t y =
      g.node("Add", {g.node("Gemm", {x, g.filled({8, 4}, 1.0f)}, {Attr::Ints("transB", {1})}),
                     g.filled({1, 8}, 1.0f)});
  g.output(y);
  EXPECT_EQ(changes_of(g, "bias"), 1u);
  const lk_node *node = g.producer(y);
  ASSERT_EQ(node->n_inputs, 4u);
  EXPECT_EQ(node->inputs[2], LK_NO_VALUE);
  EXPECT_EQ(node->post_ops[0].input, 3);
}

TEST(PassBias, LeftSideOfUnknownRankTakesAVectorOnly) {
  auto count = [](std::vector<int64_t> dims) {
    GraphBuilder g;
    const int32_t x =
        g.node("Cast", {g.node("Mystery", {g.input("x", {1})})}, {Attr::Ints("to", {LK_F32})});
    g.output(g.node("Add", {g.node("MatMul", {x, g.filled({4, 8}, 1.0f)}), g.filled(dims, 1)}));
    return changes_of(g, "bias");
  };
  EXPECT_EQ(count({1, 8}), 0u);
  EXPECT_EQ(count({8}), 1u); // the last dimension comes from the weights
  EXPECT_EQ(count({7}), 0u);
}

// A MatMul of 4 x 8, and what comes behind it.
template <typename Behind> uint64_t fused(Behind behind) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 4});
  const int32_t y = g.node("MatMul", {x, g.filled({4, 8}, 1.0f)});
  g.output(behind(g, y));
  return changes_of(g, "bias");
}

TEST(PassBias, ConditionsThatKeepTheAdd) {
  auto add = [](std::vector<int64_t> dims) {
    return fused([&](GraphBuilder &g, int32_t y) {
      return g.node("Add", {y, g.filled(dims, 1.0f)});
    });
  };
  EXPECT_EQ(add({8}), 1u);
  EXPECT_EQ(add({1, 8}), 1u);
  EXPECT_EQ(add({2, 8}), 0u);                      // no vector
  EXPECT_EQ(add({3, 1}), 0u);                      // along the rows
  EXPECT_EQ(add({1, 1, 8}), 0u);                   // raises the rank
  EXPECT_EQ(add({1}), 0u);                         // a number: pass "activation"
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t y) { // used twice
              g.output(g.node("Relu", {y}));
              return g.node("Add", {y, g.filled({8}, 1.0f)});
            }),
            0u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t y) { // an output
              g.output(y);
              return g.node("Add", {y, g.filled({8}, 1.0f)});
            }),
            0u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t y) { // comes at run time
              return g.node("Add", {y, g.input("b", {8})});
            }),
            0u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t y) { // another operator
              return g.node("Sub", {y, g.filled({8}, 1.0f)});
            }),
            0u);
}

TEST(PassBias, VectorThatWouldEnlargeOneColumnStays) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 4});
  g.output(g.node("Add", {g.node("MatMul", {x, g.filled({4, 1}, 1.0f)}), g.filled({8}, 1.0f)}));
  EXPECT_EQ(changes_of(g, "bias"), 0u);
}

TEST(PassBias, OtherTypesStay) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 4}, LK_F64);
  const int32_t w = g.constant<double>({4, 2}, std::vector<double>(8), LK_F64);
  g.output(g.node("Add", {g.node("MatMul", {x, w}), g.constant<double>({2}, {1, 2}, LK_F64)}));
  EXPECT_EQ(changes_of(g, "bias"), 0u);
}

} // namespace
