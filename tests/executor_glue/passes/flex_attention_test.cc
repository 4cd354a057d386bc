// Pass "flex_attention". What it computes: tests/models/test_flex_attention.py.
#include "tests/executor_glue/graph/builder.h"

using lk::Attr;
using lk::changes_of;
using lk::GraphBuilder;

namespace {

const std::string kDomain = "ai.onnx.preview";

// y = FlexAttention(q, k, v)
int32_t attention(GraphBuilder &g, const std::vector<Attr> &attrs = {}, uint32_t dtype = LK_F32,
                  const std::string &domain = kDomain) {
  const int32_t q = g.input("q", {1, 4, 3, 8}, dtype), k = g.input("k", {1, 2, 5, 8}, dtype);
  const int32_t v = g.input("v", {1, 2, 5, 8}, dtype);
  return g.node("FlexAttention", {q, k, v}, attrs, 1, domain);
}

// x + captured
void modification(GraphBuilder &g, int32_t y, const char *name, int32_t captured) {
  GraphBuilder body(g->allocator);
  const int32_t x = body.input("x", {1, 4, 3, 5}), c = body.input("c", {});
  body.output(body.node("Add", {x, c}));
  g.body(y, name, body, {captured});
}

TEST(PassFlexAttention, WithoutBodiesItIsAttention) {
  for (uint32_t dtype : {LK_F32, LK_F16, LK_BF16}) {
    GraphBuilder g;
    const int32_t y = attention(g, {Attr::Float("scale", 0.5F)}, dtype);
    g.output(y);
    EXPECT_EQ(changes_of(g, "flex_attention"), 1u);
    ASSERT_EQ(g->n_nodes, 1u);
    EXPECT_STREQ(g.producer(y)->op_type, "Attention");
    EXPECT_STREQ(g.producer(y)->domain, "");
    EXPECT_EQ(lk_node_attr_float(g.producer(y), "scale", 0), 0.5F);
  }
}

TEST(PassFlexAttention, WhatAttentionDoesNotComputeIsTakenApart) {
  GraphBuilder g;
  g.output(attention(g, {}, LK_F64));
  EXPECT_EQ(changes_of(g, "flex_attention"), 1u);
  EXPECT_EQ(g.count("MatMul"), 2u);
  EXPECT_EQ(g.count("Reciprocal"), 1u);
  EXPECT_EQ(g.count("Cast"), 1u); // of the width
}

TEST(PassFlexAttention, BodiesComeBeforeAndBehindSoftmax) {
  GraphBuilder g;
  const int32_t y = attention(g, {Attr::Float("scale", 0.5F)}, LK_F16);
  const int32_t before = g.input("before", {}), behind = g.input("behind", {});
  modification(g, y, "prob_mod", behind);
  modification(g, y, "score_mod", before);
  g.output(y);
  EXPECT_EQ(changes_of(g, "flex_attention"), 1u);
  EXPECT_EQ(g.count("FlexAttention"), 0u);
  EXPECT_EQ(g.count("Cast"), 4u); // of query, key, values, and the result
  for (size_t n = 0; n < g->n_nodes; n++) {
    const lk_node *softmax = &g->nodes[n];
    if (std::string(softmax->op_type) != "Softmax") continue;
    EXPECT_EQ(g.producer(softmax->inputs[0])->inputs[1], before);
  }
  EXPECT_EQ(g->values[behind].n_uses, 1u);
}

TEST(PassFlexAttention, WhatIsNotKnownOrNotWholeStays) {
  GraphBuilder unknown, two, other, strange, fixed;
  const int32_t q = unknown.node("Unknown", {unknown.input("x", {})});
  unknown.output(unknown.node("FlexAttention", {q, q, q}, {}, 1, kDomain));
  EXPECT_EQ(changes_of(unknown, "flex_attention"), 0u);
  const int32_t x = two.input("x", {1, 1, 1, 1});
  two.output(two.node("FlexAttention", {x, x}, {}, 1, kDomain));
  EXPECT_EQ(changes_of(two, "flex_attention"), 0u);
  other.output(attention(other, {}, LK_F32, ""));
  EXPECT_EQ(changes_of(other, "flex_attention"), 0u);
  const int32_t y = attention(strange);
  modification(strange, y, "mask_mod", strange.input("c", {}));
  strange.output(y);
  EXPECT_EQ(changes_of(strange, "flex_attention"), 0u);
  fixed.output(attention(fixed, {Attr::Ints("softmax_precision", {LK_I64})}));
  EXPECT_EQ(changes_of(fixed, "flex_attention"), 0u);
}

TEST(PassFlexAttention, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    if (g.status() != LK_OK) return g.status();
    const int32_t y = attention(g, {Attr::Float("scale", 0.5F)}, LK_F16), c = g.input("c", {});
    if (g.status() == LK_OK) modification(g, y, "score_mod", c);
    g.output(y);
    uint64_t changes = 0;
    if (g.link() != LK_OK) return g.status();
    return lk::run_pass(g, "flex_attention", &changes);
  });
}

} // namespace
