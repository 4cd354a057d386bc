// Bodies of nodes: graphs of their own, whose captured values become inputs of the node.
#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/allocator.h"

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace proto;

namespace {

Message body(const std::string &name, const Graph &graph) {
  return attribute(name, kGraph).add(6, graph.m);
}
Graph branch(const std::vector<Message> &nodes, const std::string &output) {
  Graph g;
  for (const Message &one : nodes) g.node(one);
  return g.out(output);
}

// y = c ? x + h : h, where h is made outside.
std::string choice() {
  const Graph then_graph = branch({node("Add", {"x", "h"}, {"sum"})}, "sum");
  const Graph else_graph = branch({node("Identity", {"h"}, {"same"})}, "same");
  Graph g;
  g.in("x").in("c", LK_BOOL, {}).out("y");
  g.node(node("Neg", {"x"}, {"h"}));
  g.node(node("If", {"c"}, {"y"},
              {body("then_branch", then_graph), body("else_branch", else_graph)}, "choice"));
  return model(g).bytes;
}

TEST(OnnxBodies, CaptureWhatTheyRead) {
  Loaded m;
  LK_ASSERT_OK(m.memory(choice()));
  const lk_node *node = m.node("If");
  ASSERT_NE(node, nullptr);
  ASSERT_EQ(node->n_bodies, 2u);
  EXPECT_EQ(node->n_attrs, 0u);
  EXPECT_EQ(lk_node_captured(node), 3u);
  ASSERT_EQ(node->n_inputs, 4u);
  const auto name = [&](uint32_t i) { return std::string(m.graph->values[node->inputs[i]].name); };
  EXPECT_EQ(name(0), "c");
  EXPECT_EQ(name(1) + name(2) + name(3), "xhh");
  const lk_body &then_body = node->bodies[0], &else_body = node->bodies[1];
  EXPECT_STREQ(then_body.name, "then_branch");
  EXPECT_STREQ(then_body.graph->scope, "/choice.then_branch");
  EXPECT_EQ(then_body.n_captured, 2u);
  EXPECT_EQ(then_body.graph->n_inputs, 2u);
  EXPECT_EQ(then_body.graph->n_nodes, 1u);
  EXPECT_EQ(else_body.n_captured, 1u);
  EXPECT_EQ(else_body.graph->n_outputs, 1u);
}

// A body within a body: the outer one captures what the inner one reads.
TEST(OnnxBodies, CaptureThroughOthers) {
  const Graph inner = branch({node("Add", {"x", "t"}, {"u"})}, "u");
  const Graph outer = branch(
      {node("Neg", {"x"}, {"t"}),
       node("If", {"c"}, {"v"}, {body("then_branch", inner), body("else_branch", inner)}, "in")},
      "v");
  Graph g;
  g.in("x").in("c", LK_BOOL, {}).out("y");
  g.node(node("If", {"c"}, {"y"}, {body("then_branch", outer), body("else_branch", outer)}, "out"));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  const lk_node *out = m.node("If");
  ASSERT_EQ(out->n_inputs, 5u); // the condition, and x and c of each branch
  const lk_graph *then_graph = out->bodies[0].graph;
  ASSERT_EQ(then_graph->n_nodes, 2u);
  const lk_node &in = then_graph->nodes[1];
  EXPECT_EQ(in.n_inputs, 5u); // x and t of each
  EXPECT_STREQ(in.bodies[1].graph->scope, "/out.then_branch/in.else_branch");
}

TEST(OnnxBodies, ReadInitializersOfTheirOwnAndOthers) {
  Graph then_graph = branch({node("Add", {"w", "own"}, {"sum"})}, "sum");
  then_graph.init(tensor("own", LK_F32, {4}, kFloatData, raw(std::vector<float>{1, 2, 3, 4})));
  Graph g;
  g.in("c", LK_BOOL, {}).out("y");
  g.init(tensor("w", LK_F32, {4}, kFloatData, raw(std::vector<float>{1, 1, 1, 1})));
  g.node(
      node("If", {"c"}, {"y"}, {body("then_branch", then_graph), body("else_branch", then_graph)}));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  EXPECT_EQ(m.node("If")->n_inputs, 3u);
  EXPECT_EQ(m.node("If")->bodies[0].n_captured, 1u);
}

TEST(OnnxBodies, MayGiveAValueTwiceOrOneFromAround) {
  Graph then_graph = branch({node("Neg", {"x"}, {"n"})}, "n");
  then_graph.out("n").out("x");
  Graph g;
  g.in("x").in("c", LK_BOOL, {}).out("a").out("b").out("d");
  g.node(node("If", {"c"}, {"a", "b", "d"},
              {body("then_branch", then_graph), body("else_branch", then_graph)}));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  const lk_graph *graph = m.node("If")->bodies[0].graph;
  ASSERT_EQ(graph->n_outputs, 3u);
  EXPECT_EQ(graph->n_nodes, 2u); // the second is a copy
  EXPECT_NE(graph->outputs[0], graph->outputs[1]);
}

// What an exporter says of a body's inputs holds for the first iteration only.
TEST(OnnxBodies, TakeSizesFromTheirNodes) {
  Graph loop;
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past", LK_F32, {"1", "4"});
  loop.node(node("Concat", {"past", "past"}, {"next"}, {attribute("axis", kInt).num(3, 0)}));
  loop.out("go", LK_BOOL, {}).out("next");
  Graph g;
  g.in("x").out("y");
  g.node(node("Loop", {"", "", "x"}, {"y"}, {body("body", loop)}));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  const lk_graph *graph = m.node("Loop")->bodies[0].graph;
  const lk_declaration *past = graph->values[graph->inputs[2]].declared;
  ASSERT_NE(past, nullptr);
  EXPECT_EQ(past->dtype, uint32_t{LK_F32});
  EXPECT_EQ(past->rank, 2);
  EXPECT_EQ(past->dims[0], -1);
}

TEST(OnnxBodies, OfBadModelsAreRefused) {
  const auto load = [](Loaded *m, const Graph &graph) {
    Graph g;
    g.in("x").in("c", LK_BOOL, {}).out("y");
    g.node(node("If", {"c"}, {"y"}, {body("then_branch", graph)}, "choice"));
    return m->memory(model(g).bytes);
  };
  Loaded m;
  LK_EXPECT_STATUS(LK_MALFORMED, load(&m, branch({node("Neg", {"ghost"}, {"n"})}, "n")));
  EXPECT_THAT(LK_MESSAGE,
              HasSubstr("its input 'ghost' is not an input, an initializer, or made by"));
  LK_EXPECT_STATUS(LK_MALFORMED, load(&m, branch({}, "n")));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("output 'n' is not an input, an initializer, or made by"));
  LK_EXPECT_STATUS(LK_MALFORMED,
                   load(&m, branch({node("Neg", {"b"}, {"a"}), node("Neg", {"a"}, {"b"})}, "b")));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("cycle"));
  // a body cannot read what its own node makes: that would be a cycle
  LK_EXPECT_STATUS(LK_MALFORMED, load(&m, branch({node("Neg", {"y"}, {"n"})}, "n")));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("cycle"));

  Graph deep = branch({node("Neg", {"x"}, {"n"})}, "n");
  for (int i = 0; i < 20; i++) {
    deep = branch({node("If", {"c"}, {"n"}, {body("then_branch", deep)})}, "n");
  }
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, load(&m, deep));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("nested deeper"));
}

TEST(OnnxBodies, StayWithTheirNodes) {
  Loaded m;
  LK_ASSERT_OK(m.memory(choice()));
  LK_ASSERT_OK(lk_graph_compact(m.graph, LK_ERR));
  const lk_node *node = m.node("If");
  ASSERT_EQ(node->n_bodies, 2u);
  EXPECT_STREQ(node->bodies[1].name, "else_branch");
  EXPECT_STREQ(node->bodies[1].graph->nodes[0].op_type, "Identity");
  lk_graph_remove_node(m.graph, static_cast<int32_t>(node - m.graph->nodes));
  EXPECT_EQ(node->n_bodies, 0u);
}

TEST(OnnxBodies, EveryAllocationMayFail) {
  const std::string bytes = choice();
  lk::fail_every_allocation([&](lk::FailingAllocator &allocator) {
    Loaded m;
    const lk_status status = m.memory(bytes, allocator.get());
    return status == LK_OK ? lk_graph_compact(m.graph, LK_ERR) : status;
  });
}

} // namespace
