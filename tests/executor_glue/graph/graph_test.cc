// The graph: building, linking, sorting, editing, and memory.
#include "tests/executor_glue/graph/builder.h"
#include "tests/harness/fenced.h"

using lk::Attr;
using lk::GraphBuilder;
using ::testing::HasSubstr;

namespace {

TEST(Graph, SortsNodesThatComeInAnyOrder) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  const int32_t late = g.value("late");
  const int32_t b = g.node("Relu", {late});
  const int32_t a = g.node("Relu", {x});
  g->nodes[1].outputs[0] = late;
  (void)a;
  g.output(b);
  LK_ASSERT_OK(g.link());
  EXPECT_EQ(g->values[late].producer, 0);
  EXPECT_EQ(g->values[b].producer, 1);
  EXPECT_EQ(g->values[late].n_uses, 1u);
  EXPECT_EQ(g->values[b].n_uses, 1u);
  EXPECT_TRUE(g->values[b].is_output);
}

TEST(Graph, SortedOrderIsKept) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  const int32_t a = g.node("A", {x}), b = g.node("B", {x}), c = g.node("C", {b});
  const int32_t d = g.node("D", {a, c});
  g.output(d);
  LK_ASSERT_OK(g.link());
  std::string order;
  for (size_t i = 0; i < g->n_nodes; i++) order += g->nodes[i].op_type;
  EXPECT_EQ(order, "ABCD");
}

TEST(Graph, ChainOfHundredThousandNodesLinks) {
  GraphBuilder g;
  int32_t v = g.input("x", {1});
  for (int i = 0; i < 100000; i++) v = g.node("Relu", {v});
  g.output(v);
  LK_ASSERT_OK(g.link());
  EXPECT_EQ(g->values[v].producer, 99999);
}

TEST(Graph, CycleIsRefusedByName) {
  GraphBuilder g;
  const int32_t back = g.value("back");
  const int32_t a = g.node("Relu", {back});
  const int32_t b = g.node("Relu", {a});
  g->nodes[1].outputs[0] = back;
  (void)b;
  LK_EXPECT_STATUS(LK_MALFORMED, lk_graph_link(g.get(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("cycle"));
}

TEST(Graph, NodeThatReadsItselfIsRefused) {
  GraphBuilder g;
  const int32_t a = g.node("Relu", {LK_NO_VALUE});
  g->nodes[0].inputs[0] = a;
  LK_EXPECT_STATUS(LK_MALFORMED, lk_graph_link(g.get(), LK_ERR));
}

TEST(Graph, ValueMadeTwiceIsRefused) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  const int32_t a = g.node("Relu", {x});
  g.node("Relu", {x});
  g->nodes[1].outputs[0] = a;
  LK_EXPECT_STATUS(LK_MALFORMED, lk_graph_link(g.get(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("made twice"));
}

TEST(Graph, ValueMadeByNodeAndInputIsRefused) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  g.node("Relu", {x});
  g->nodes[0].outputs[0] = x;
  LK_EXPECT_STATUS(LK_MALFORMED, lk_graph_link(g.get(), LK_ERR));
}

TEST(Graph, UseOfWhatIsNeverMadeIsRefused) {
  GraphBuilder g;
  const int32_t ghost = g.value("ghost");
  g.output(g.node("Relu", {ghost}));
  LK_EXPECT_STATUS(LK_MALFORMED, lk_graph_link(g.get(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("ghost"));
}

TEST(Graph, OutputThatIsNeverMadeIsRefused) {
  GraphBuilder g;
  g.output(g.value("ghost"));
  LK_EXPECT_STATUS(LK_MALFORMED, lk_graph_link(g.get(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("ghost"));
}

TEST(Graph, IndexOutOfRangeIsRefused) {
  GraphBuilder g;
  g.node("Relu", {77});
  LK_EXPECT_STATUS(LK_MALFORMED, lk_graph_link(g.get(), LK_ERR));
}

TEST(Graph, AttributesAreReadWithTheirTypes) {
  GraphBuilder g;
  g.node("X", {},
         {Attr::Ints("group", {4}), Attr::Float("alpha", 0.5f), Attr::Ints("two", {1, 2})});
  const lk_node *node = &g->nodes[0];
  EXPECT_EQ(lk_node_attr_int(node, "group", 1), 4);
  EXPECT_EQ(lk_node_attr_int(node, "absent", 7), 7);
  EXPECT_EQ(lk_node_attr_int(node, "alpha", 7), 7); // another type
  EXPECT_EQ(lk_node_attr_int(node, "two", 7), 7);   // not one number
  EXPECT_EQ(lk_node_attr_float(node, "alpha", 0.0f), 0.5f);
}

// Indices are of 32 bits. No memory holds so many, so a count stands for them.
TEST(Graph, MoreThanHaveAnIndexAreRefused) {
  GraphBuilder g;
  int32_t added = 0;
  size_t *const counts[] = {&g->n_values, &g->n_nodes};
  for (size_t *count : counts) *count = INT32_MAX;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, lk_graph_add_value(g.get(), "x", 1, &added, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("add value: 2147483647 are there, at most 2147483647"));
  EXPECT_EQ(added, LK_NO_VALUE);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, lk_graph_add_node(g.get(), 0, 0, 0, &added, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("add node: 2147483647 are there, at most 2147483647"));
  EXPECT_EQ(added, LK_NO_NODE);
  for (size_t *count : counts) *count = 0;
}

TEST(Graph, LastUseFreesAnOwnedConstant) {
  lk::FailingAllocator allocator;
  GraphBuilder g(allocator.get());
  const int32_t x = g.input("x", {1000});
  const int32_t big = g.filled({1000}, 1.0f);
  const int32_t a = g.node("Add", {x, big}), b = g.node("Add", {a, big});
  g.output(b);
  LK_ASSERT_OK(g.link());
  const size_t before = allocator.live_bytes();
  lk_node_set_input(g.get(), 0, 1, x);
  EXPECT_EQ(allocator.live_bytes(), before);
  lk_node_set_input(g.get(), 1, 1, x);
  EXPECT_EQ(allocator.live_bytes(), before - 4000);
  EXPECT_EQ(g->values[x].n_uses, 3u);
}

TEST(Graph, FinishDropsDeadNodesAndUnusedConstants) {
  GraphBuilder g;
  const int32_t x = g.input("x", {1});
  const int32_t unused = g.filled({4}, 1.0f);
  const int32_t a = g.node("Relu", {x}), b = g.node("Sigmoid", {x});
  g.output(b);
  LK_ASSERT_OK(g.link());
  lk_graph_remove_node(g.get(), g->values[a].producer);
  LK_ASSERT_OK(lk_graph_resolve(g.get(), LK_ERR));
  ASSERT_EQ(g->n_nodes, 1u);
  EXPECT_STREQ(g->nodes[0].op_type, "Sigmoid");
  EXPECT_EQ(g->values[b].producer, 0);
  EXPECT_EQ(g->values[x].n_uses, 1u);
  EXPECT_EQ(g->values[unused].constant_kind, LK_CONSTANT_NONE);
}

TEST(Graph, ResolveTouchesNothingBehindTheLastValue) {
  GraphBuilder g;
  g.output(g.node("Relu", {g.input("x", {1})}));
  LK_ASSERT_OK(g.link());
  lk_value *const values = g->values;
  const size_t bytes = g->n_values * sizeof *values;
  const lk::Fenced fenced(bytes);
  g->values = static_cast<lk_value *>(std::memcpy(fenced.data(), values, bytes));
  LK_EXPECT_OK(lk_graph_resolve(g.get(), LK_ERR));
  g->values = values;
}

TEST(Graph, ConstantNumbersOfEveryType) {
  GraphBuilder g;
  auto read = [&](int32_t v) { return lk_constant_number(&g->values[v], 1); };
  EXPECT_EQ(read(g.constant<float>({2}, {0, -2.5f}, LK_F32)), -2.5);
  EXPECT_EQ(read(g.constant<double>({2}, {0, 1e300}, LK_F64)), 1e300);
  EXPECT_EQ(read(g.constant<int8_t>({2}, {0, -7}, LK_I8)), -7);
  EXPECT_EQ(read(g.constant<uint8_t>({2}, {0, 200}, LK_U8)), 200);
  EXPECT_EQ(read(g.constant<int64_t>({2}, {0, -(1ll << 40)}, LK_I64)), -double(1ll << 40));
  EXPECT_EQ(read(g.constant<uint16_t>({2}, {0, 0x3c00}, LK_F16)), 1.0);
  EXPECT_EQ(read(g.constant<uint16_t>({2}, {0, 0xc500}, LK_F16)), -5.0);
  EXPECT_EQ(read(g.constant<uint16_t>({2}, {0, 0x7bff}, LK_F16)), 65504.0);
  EXPECT_EQ(read(g.constant<uint16_t>({2}, {0, 0x0001}, LK_F16)), 0x1p-24);
  EXPECT_EQ(read(g.constant<uint16_t>({2}, {0, 0xc020}, LK_BF16)), -2.5);
}

TEST(Graph, CompactLeavesBehindWhatNoRunNeeds) {
  lk::FailingAllocator allocator;
  GraphBuilder g(allocator.get());
  const int32_t x = g.input("x", {2, -1});
  for (int i = 0; i < 1000; i++) g.value("unused" + std::to_string(i));
  const int32_t weights = g.floats({2}, {1, 2});
  const int32_t a = g.node("Add", {x, weights}), b = g.node("Relu", {a}, {Attr::Float("f", 1)});
  g.output(b);
  LK_ASSERT_OK(lk_node_append_post_op(g.get(), 1, {LK_POST_RELU, -1, 0, 0}, LK_ERR));
  LK_ASSERT_OK(lk_node_note_fused(g.get(), 1, "relu", LK_ERR));
  LK_ASSERT_OK(g.link());
  const std::string name_a = g->values[a].name, name_b = g->values[b].name;
  const void *data = g->values[weights].constant.data;
  char producer[] = "exporter", domain[] = "com.example";
  const lk_opset opset = {domain, 3};
  g->model.producer_name = producer;
  g->model.opsets = &opset;
  g->model.n_opsets = 1;
  const size_t before = allocator.live_bytes();
  LK_ASSERT_OK(lk_graph_compact(g.get(), LK_ERR));
  EXPECT_LT(allocator.live_bytes(), before / 5);

  ASSERT_EQ(g->n_values, 4u);
  ASSERT_EQ(g->n_nodes, 2u);
  const lk_node *add = &g->nodes[0], *relu = &g->nodes[1];
  EXPECT_STREQ(add->op_type, "Add");
  ASSERT_EQ(add->n_inputs, 2u);
  const lk_value *in = &g->values[add->inputs[0]], *constant = &g->values[add->inputs[1]];
  EXPECT_EQ(add->inputs[0], g->inputs[0]);
  EXPECT_STREQ(in->name, "x");
  EXPECT_TRUE(in->is_input);
  ASSERT_NE(in->declared, nullptr);
  EXPECT_EQ(in->declared->dims[0], 2);
  EXPECT_EQ(constant->constant_kind, LK_CONSTANT_OWNED);
  EXPECT_EQ(constant->constant.data, data) << "moved, not copied";
  EXPECT_EQ(add->outputs[0], relu->inputs[0]);
  EXPECT_EQ(g->values[add->outputs[0]].name, name_a);
  EXPECT_EQ(g->values[add->outputs[0]].producer, 0);
  EXPECT_EQ(relu->outputs[0], g->outputs[0]);
  EXPECT_EQ(g->values[relu->outputs[0]].name, name_b);
  EXPECT_TRUE(g->values[relu->outputs[0]].is_output);
  EXPECT_STREQ(relu->fused, "relu");
  EXPECT_STREQ(g->model.producer_name, producer);
  EXPECT_NE(g->model.producer_name, producer);
  ASSERT_EQ(g->model.n_opsets, 1u);
  EXPECT_STREQ(g->model.opsets[0].domain, domain);
  EXPECT_NE(g->model.opsets[0].domain, domain);
  EXPECT_EQ(g->model.opsets[0].version, 3);
  EXPECT_EQ(relu->n_attrs, 0u);
  EXPECT_EQ(relu->n_post_ops, 0u);
}

TEST(Graph, CompactKeepsAllOutputsOfANode) {
  GraphBuilder g;
  const int32_t first = g.node("Split", {g.input("x", {3})}, {}, 3);
  g->nodes[0].outputs[1] = LK_NO_VALUE;
  g.output(first);
  g.output(first + 2);
  LK_ASSERT_OK(g.link());
  LK_ASSERT_OK(lk_graph_compact(g.get(), LK_ERR));
  ASSERT_EQ(g->nodes[0].n_outputs, 3u);
  EXPECT_EQ(g->nodes[0].outputs[0], g->outputs[0]);
  EXPECT_EQ(g->nodes[0].outputs[1], LK_NO_VALUE);
  EXPECT_EQ(g->nodes[0].outputs[2], g->outputs[1]);
}

TEST(Graph, CompactKeepsBodiesUnderNamesOfItsOwn) {
  GraphBuilder g, inner;
  char name[] = "then_branch"; // as the graph's memory of before, which goes
  inner.output(inner.filled({1}, 1.0f));
  const int32_t chosen = g.node("If", {g.input("c", {}, LK_BOOL)});
  g.body(chosen, name, inner);
  g.output(chosen);
  LK_ASSERT_OK(g.link());
  const lk_graph *body = g->nodes[0].bodies[0].graph;
  LK_ASSERT_OK(lk_graph_compact(g.get(), LK_ERR));
  ASSERT_EQ(g->nodes[0].n_bodies, 1u);
  EXPECT_EQ(g->nodes[0].bodies[0].graph, body) << "moved, not copied";
  EXPECT_STREQ(g->nodes[0].bodies[0].name, name);
  EXPECT_NE(g->nodes[0].bodies[0].name, name);
}

TEST(Graph, CompactThatFailsChangesNothing) {
  lk::FailingAllocator allocator;
  GraphBuilder g(allocator.get());
  const int32_t x = g.input("x", {1});
  g.value("unused");
  g.output(g.node("Add", {x, g.filled({3}, 1.0f)}, {Attr::Ints("axes", {1})}));
  LK_ASSERT_OK(g.link());
  const size_t before = allocator.live_bytes();
  size_t n = 1;
  for (;; n++) {
    allocator.fail_at(n);
    const lk_status status = lk_graph_compact(g.get(), LK_ERR);
    allocator.fail_never();
    if (status == LK_OK) break;
    ASSERT_EQ(status, LK_OUT_OF_MEMORY);
    ASSERT_EQ(allocator.live_bytes(), before) << "allocation " << n;
    ASSERT_EQ(g->n_values, 4u);
    ASSERT_EQ(g->nodes[0].n_attrs, 1u);
    ASSERT_EQ(g->values[g->nodes[0].inputs[1]].constant_kind, LK_CONSTANT_OWNED);
  }
  EXPECT_GT(n, 5u);
  EXPECT_EQ(g->n_values, 3u);
}

TEST(Graph, EveryAllocationMayFail) {
  lk::fail_every_allocation([](lk::FailingAllocator &allocator) {
    GraphBuilder g(allocator.get());
    int32_t v = g.input("x", {1, 3, 8, 8});
    for (int i = 0; i < 20; i++) {
      v = g.node("Conv", {v, g.filled({3, 3, 1, 1}, 1.0f)}, {Attr::Ints("pads", {0, 0, 0, 0})});
    }
    if (g.status() == LK_OK) {
      char large[100000] = {0};
      if (lk_graph_strndup(g.get(), large, sizeof large) == nullptr) return LK_OUT_OF_MEMORY;
    }
    g.output(v);
    return g.link();
  });
}

} // namespace
