// Pass "residual": the Add of what is known to have the same shape, and of nothing else.
#include "tests/executor_glue/graph/builder.h"

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;
using lk::post_op_kinds;

namespace {

int32_t conv(GraphBuilder &g, int32_t x, int64_t out, int64_t in, int64_t kernel, int64_t stride,
             int64_t pad) {
  return g.node(
      "Conv", {x, g.filled({out, in, kernel, kernel}, 1.0f)},
      {Attr::Ints("strides", {stride, stride}), Attr::Ints("pads", {pad, pad, pad, pad})});
}

TEST(PassResidual, IdentityShortcutOfOpenSize) {
  for (const char *op : {"Add", "Sum"}) {
    GraphBuilder g;
    const int32_t x = g.node("Relu", {g.input("x", {-1, 8, -1, -1})});
    const int32_t a = g.node("Relu", {conv(g, x, 4, 8, 3, 1, 1)});
    const int32_t y = g.node(op, {conv(g, a, 8, 4, 1, 1, 0), x});
    g.output(y);
    EXPECT_EQ(changes_of(g, "residual"), 1u);
    const lk_node *node = g.producer(y);
    EXPECT_STREQ(node->op_type, "Conv");
    ASSERT_EQ(node->n_inputs, 4u); // x, weights, no bias, operand
    EXPECT_EQ(node->inputs[2], LK_NO_VALUE);
    EXPECT_EQ(node->inputs[3], x);
    EXPECT_EQ(post_op_kinds(node), (std::vector<uint32_t>{LK_POST_ADD}));
    EXPECT_EQ(node->post_ops[0].input, 3);
    EXPECT_STREQ(node->fused, "residual");
    EXPECT_EQ(g->values[x].n_uses, 2u);
  }
}

// The Relu behind the first Sum is a post-op of it by the time that "residual" runs, and the second
// Sum can be fused only if its shape is still known.
TEST(PassResidual, ChainOfBlocksWithActivations) {
  for (const char *op : {"Add", "Sum"}) {
    GraphBuilder g;
    const int32_t x = g.node("Relu", {g.input("x", {-1, 8, -1, -1})});
    const int32_t first = g.node("Relu", {g.node(op, {conv(g, x, 8, 8, 3, 1, 1), x})});
    const int32_t second = g.node("Relu", {g.node(op, {conv(g, first, 8, 8, 3, 1, 1), first})});
    g.output(second);
    EXPECT_EQ(changes_of(g, "activation"), 2u);
    EXPECT_EQ(changes_of(g, "residual"), 2u);
    for (const int32_t y : {first, second}) {
      EXPECT_STREQ(g.producer(y)->op_type, "Conv");
      EXPECT_EQ(post_op_kinds(g.producer(y)), (std::vector<uint32_t>{LK_POST_ADD, LK_POST_RELU}));
    }
  }
}

TEST(PassResidual, ProjectionShortcutGoesIntoTheLaterConvolution) {
  for (const bool shortcut_last : {false, true}) {
    GraphBuilder g;
    const int32_t x = g.input("x", {-1, 8, -1, -1});
    int32_t shortcut = LK_NO_VALUE;
    if (!shortcut_last) shortcut = conv(g, x, 16, 8, 1, 2, 0);
    const int32_t main = conv(g, conv(g, x, 4, 8, 3, 2, 1), 16, 4, 1, 1, 0);
    if (shortcut_last) shortcut = conv(g, x, 16, 8, 1, 2, 0);
    const int32_t y = g.node("Add", {main, shortcut});
    g.output(y);
    EXPECT_EQ(changes_of(g, "residual"), 1u);
    EXPECT_EQ(g.producer(y)->inputs[3], shortcut_last ? main : shortcut);
    EXPECT_EQ(g->n_nodes, 3u);
  }
}

// Add of conv(x) and of `other(x)`, both from one input of open size.
template <typename Other> uint64_t fused(Other other, std::vector<int64_t> dims = {-1, 8, -1, -1}) {
  GraphBuilder g;
  const int32_t x = g.input("x", dims);
  const int32_t y = conv(g, x, 8, 8, 3, 1, 1);
  g.output(g.node("Add", {y, other(g, x)}));
  return changes_of(g, "residual");
}

TEST(PassResidual, EqualShapesByOtherWays) {
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t x) { // 5 x 5 with padding 2
              return g.node("Sigmoid", {conv(g, x, 8, 8, 5, 1, 2)});
            }),
            1u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t x) { // a pool that keeps the size
              return g.node("MaxPool", {x},
                            {Attr::Ints("kernel_shape", {3, 3}), Attr::Ints("pads", {1, 1, 1, 1})});
            }),
            1u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t x) { return g.node("Mul", {x, g.scalar(2)}); }), 1u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t x) { // squeeze and excite
              return g.node("Mul", {x, g.node("GlobalAveragePool", {x})});
            }),
            1u);
}

TEST(PassResidual, ShapesThatMightDifferKeepTheAdd) {
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t) { return g.input("z", {-1, 8, -1, -1}); }), 0u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t) { // larger by broadcasting
              return g.input("z", {-1, -1, 8, -1, -1});
            }),
            0u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t x) { return g.node("GlobalAveragePool", {x}); }), 0u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t x) { return conv(g, x, 8, 8, 3, 1, 0); }), 0u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t x) { return conv(g, x, 8, 8, 3, 2, 1); }), 0u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t x) { // down and up again: even sizes alone
              const int32_t half = conv(g, x, 8, 8, 3, 2, 1);
              return g.node("Resize", {half, LK_NO_VALUE, g.floats({4}, {1, 1, 2, 2})});
            }),
            0u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t x) { // ceil mode is another function
              return g.node("MaxPool", {x},
                            {Attr::Ints("kernel_shape", {2, 2}), Attr::Ints("pads", {1, 1, 1, 1}),
                             Attr::Ints("strides", {2, 2}), Attr::Ints("ceil_mode", {1})});
            }),
            0u);
  EXPECT_EQ(fused([](GraphBuilder &g, int32_t x) { return g.node("Mystery", {x}); }), 0u);
}

TEST(PassResidual, BatchOfTheConvolutionMustBeTheOthers) {
  GraphBuilder g; // a batch of 1 against an open one: the Add may enlarge
  const int32_t x = g.input("x", {1, 8, 16, 16}), z = g.input("z", {-1, 8, 16, 16});
  g.output(g.node("Add", {conv(g, x, 8, 8, 1, 1, 0), z}));
  EXPECT_EQ(changes_of(g, "residual"), 0u);
}

TEST(PassResidual, DeclaredStaticShapesOfInputsCount) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1, 8, 16, 16}), z = g.input("z", {1, 8, 16, 16});
  g.output(g.node("Add", {conv(g, x, 8, 8, 1, 1, 0), z}));
  EXPECT_EQ(changes_of(g, "residual"), 1u);
}

TEST(PassResidual, AnnotationsOfInnerValuesDoNotCount) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1, 8, 16, 16}), z = g.node("Mystery", {x});
  g.declare(z, {1, 8, 16, 16});
  g.output(g.node("Add", {conv(g, x, 8, 8, 1, 1, 0), z}));
  EXPECT_EQ(changes_of(g, "residual"), 0u);
}

TEST(PassResidual, SecondUseAndOutputKeepTheAdd) {
  for (const bool is_output : {false, true}) {
    GraphBuilder g;
    const int32_t x = g.input("x", {-1, 8, -1, -1}), y = conv(g, x, 8, 8, 1, 1, 0);
    g.output(is_output ? y : g.node("Tanh", {y}));
    g.output(g.node("Add", {y, x}));
    EXPECT_EQ(changes_of(g, "residual"), 0u);
  }
}

TEST(PassResidual, SumOfOtherCountsAndTheSameTwiceStay) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 8, -1, -1});
  g.output(g.node("Sum", {conv(g, x, 8, 8, 1, 1, 0), x, x}));
  const int32_t y = conv(g, x, 8, 8, 1, 1, 0);
  g.output(g.node("Add", {y, y}));
  EXPECT_EQ(changes_of(g, "residual"), 0u);
}

TEST(PassResidual, PostOpsOfTheAddMoveWithIt) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 8, -1, -1});
  const int32_t y = g.node("Relu", {g.node("Add", {x, conv(g, x, 8, 8, 1, 1, 0)})});
  g.output(y);
  EXPECT_EQ(changes_of(g, "activation"), 1u);
  uint64_t changes = 0;
  LK_ASSERT_OK(lk::run_pass(g, "residual", &changes));
  EXPECT_EQ(changes, 1u);
  EXPECT_EQ(post_op_kinds(g.producer(y)), (std::vector<uint32_t>{LK_POST_ADD, LK_POST_RELU}));
  EXPECT_STREQ(g.producer(y)->fused, "residual,relu");
}

TEST(PassResidual, NormalizedBranchOfAMatMul) {
  GraphBuilder g; // x + W norm(x), as transformers have it
  const int32_t x = g.node(
      "Transpose", {g.node("Reshape", {g.input("x", {-1, -1, -1, -1}), g.input("s", {3}, LK_I64)})},
      {Attr::Ints("perm", {0, 2, 1})});
  const int32_t base = g.node("Add", {x, g.filled({8}, 1.0f)});
  const int32_t mean = g.node("ReduceMean", {base}, {Attr::Ints("axes", {-1})});
  const int32_t centred = g.node("Sub", {base, mean});
  const int32_t y = g.node("Add", {base, g.node("MatMul", {centred, g.filled({8, 8}, 1.0f)})});
  g.output(y);
  EXPECT_EQ(changes_of(g, "residual"), 1u);
  EXPECT_STREQ(g.producer(y)->op_type, "MatMul");
}

TEST(PassResidual, SeveralInARowStaySorted) {
  GraphBuilder g;
  const int32_t x = g.input("x", {-1, 8, -1, -1});
  const int32_t a = g.node("Add", {conv(g, x, 8, 8, 1, 1, 0), g.node("Sigmoid", {x})});
  const int32_t b = g.node("Add", {conv(g, x, 8, 8, 3, 1, 1), x});
  const int32_t y = g.node("Add", {a, b});
  g.output(y);
  EXPECT_EQ(changes_of(g, "residual"), 3u);
  for (size_t n = 0; n < g->n_nodes; n++) {
    for (uint32_t i = 0; i < g->nodes[n].n_inputs; i++) {
      const int32_t v = g->nodes[n].inputs[i];
      if (v == LK_NO_VALUE) continue;
      EXPECT_LT(g->values[v].producer, static_cast<int32_t>(n));
    }
  }
}

TEST(PassResidual, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    uint64_t changes = 0;
    const int32_t x = g.input("x", {-1, 8, -1, -1});
    g.output(g.node("Add", {conv(g, x, 8, 8, 3, 1, 1), x}));
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "residual", &changes);
  });
}

} // namespace
