// Functions of a model: each call becomes the nodes of the function.
#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/allocator.h"

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace proto;

namespace {

struct Function {
  Message m;
  explicit Function(const std::string &name) { m.text(1, name).text(10, "local"); }
  Function &in(const std::string &name) { return m.text(4, name), *this; }
  Function &out(const std::string &name) { return m.text(5, name), *this; }
  Function &has(const std::string &attribute) { return m.text(6, attribute), *this; }
  Function &node(const Message &n) { return m.add(7, n), *this; }
  Function &opset(int64_t version, const std::string &domain = "") {
    m.add(9, Message().text(1, domain).num(2, version));
    return *this;
  }
};

Message call(const std::string &op, const std::vector<std::string> &inputs,
             const std::vector<std::string> &outputs, const std::vector<Message> &attributes = {}) {
  return node(op, inputs, outputs, attributes).text(7, "local");
}
Message reference(const std::string &name, AttributeType type, const std::string &to) {
  return attribute(name, type).text(21, to);
}

// y of x, by these nodes.
std::string of(const std::vector<Message> &nodes, const std::vector<Function> &functions) {
  Graph g;
  g.in("x").out("y");
  for (const Message &one : nodes) g.node(one);
  Message m = model(g).add(8, Message().text(1, "local").num(2, 1));
  for (const Function &f : functions) m.add(25, f.m);
  return m.bytes;
}

// y = Relu(x + x), with a value of its own.
Function twice() {
  return Function("Twice")
      .in("a")
      .out("b")
      .opset(13)
      .node(node("Add", {"a", "a"}, {"sum"}))
      .node(node("Relu", {"sum"}, {"b"}));
}

TEST(OnnxFunctions, BecomeTheirNodes) {
  Loaded m;
  LK_ASSERT_OK(m.memory(of({call("Twice", {"x"}, {"h"}), call("Twice", {"h"}, {"y"})}, {twice()})));
  ASSERT_EQ(m.graph->n_nodes, 4u);
  for (size_t i : {0, 2}) {
    const lk_node &add = m.graph->nodes[i], &relu = m.graph->nodes[i + 1];
    EXPECT_STREQ(add.op_type, "Add");
    EXPECT_STREQ(relu.op_type, "Relu");
    EXPECT_EQ(add.inputs[0], add.inputs[1]);
    EXPECT_EQ(relu.inputs[0], add.outputs[0]);
    EXPECT_EQ(relu.opset, 13);
  }
  (void)m.value("h/sum");
  (void)m.value("y/sum");
}

TEST(OnnxFunctions, AttributesAreTheCallsOrTheDefaults) {
  const Function f = Function("F").in("a").out("b").opset(13).node(
      node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", kFloat, "slope")}));
  Function fallback = f;
  fallback.m.add(11, attribute("slope", kFloat).flt(2, 0.5F));
  const auto alpha = [](const Loaded &m) {
    return lk_node_attr_float(m.node("LeakyRelu"), "alpha", -1);
  };
  Loaded m;
  LK_ASSERT_OK(m.memory(
      of({call("F", {"x"}, {"y"}, {attribute("slope", kFloat).flt(2, 0.25F)})}, {fallback})));
  EXPECT_EQ(alpha(m), 0.25F);
  LK_ASSERT_OK(m.memory(of({call("F", {"x"}, {"y"})}, {fallback})));
  EXPECT_EQ(alpha(m), 0.5F);
  LK_ASSERT_OK(m.memory(of({call("F", {"x"}, {"y"})}, {f})));
  EXPECT_EQ(alpha(m), -1);
  EXPECT_EQ(m.node("LeakyRelu")->n_attrs, 0u);
}

TEST(OnnxFunctions, RefuseAttributesThatTheyDoNotHave) {
  Loaded m;
  Function f = twice();
  const auto bytes = [&] {
    return of({call("Twice", {"x"}, {"y"}, {attribute("slop", kFloat).flt(2, 0.25F)})}, {f});
  };
  LK_EXPECT_STATUS(LK_MALFORMED, m.memory(bytes()));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("node 'y' (Twice): the function has no attribute 'slop'; it "
                                    "has none"));
  f.has("slope").m.add(11, attribute("more", kFloat).flt(2, 0.5F));
  LK_EXPECT_STATUS(LK_MALFORMED, m.memory(bytes()));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("no attribute 'slop'; it has slope, more"));
}

// A call within a function passes on what it was given, under another name.
TEST(OnnxFunctions, CallOthers) {
  const Function inner = Function("Inner").has("slope").in("a").out("b").opset(13).node(
      node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", kFloat, "slope")}));
  const Function outer = Function("Outer")
                             .in("a")
                             .out("b")
                             .opset(13)
                             .opset(1, "local")
                             .has("s")
                             .node(call("Inner", {"a"}, {"b"}, {reference("slope", kFloat, "s")}));
  Loaded m;
  LK_ASSERT_OK(m.memory(
      of({call("Outer", {"x"}, {"y"}, {attribute("s", kFloat).flt(2, 0.125F)})}, {outer, inner})));
  ASSERT_EQ(m.graph->n_nodes, 1u);
  EXPECT_EQ(lk_node_attr_float(m.node("LeakyRelu"), "alpha", -1), 0.125F);
}

// The one that it was not given does not hide those behind it.
TEST(OnnxFunctions, PassOnWhatTheyAreGivenAndNothingElse) {
  const Function inner =
      Function("Inner").has("alpha").has("gamma").in("a").out("b").opset(13).node(
          node("Selu", {"a"}, {"b"},
               {reference("alpha", kFloat, "alpha"), reference("gamma", kFloat, "gamma")}));
  const Function outer =
      Function("Outer")
          .in("a")
          .out("b")
          .opset(13)
          .opset(1, "local")
          .has("absent")
          .has("given")
          .node(call("Inner", {"a"}, {"b"},
                     {reference("alpha", kFloat, "absent"), reference("gamma", kFloat, "given")}));
  Loaded m;
  LK_ASSERT_OK(m.memory(of(
      {call("Outer", {"x"}, {"y"}, {attribute("given", kFloat).flt(2, 0.125F)})}, {outer, inner})));
  const lk_node *selu = m.node("Selu");
  ASSERT_EQ(selu->n_attrs, 1u);
  EXPECT_EQ(lk_node_attr_float(selu, "gamma", -1), 0.125F);
}

TEST(OnnxFunctions, GiveConstantsWhatTheyAreGiven) {
  const Function f = Function("F")
                         .in("a")
                         .out("b")
                         .opset(13)
                         .has("v")
                         .node(node("Constant", {}, {"c"}, {reference("value_float", kFloat, "v")}))
                         .node(node("Add", {"a", "c"}, {"b"}));
  Loaded m;
  LK_ASSERT_OK(m.memory(of({call("F", {"x"}, {"y"}, {attribute("v", kFloat).flt(2, 3)})}, {f})));
  EXPECT_EQ(m.constant<float>("y/c"), std::vector<float>{3});
  LK_EXPECT_STATUS(LK_MALFORMED, m.memory(of({call("F", {"x"}, {"y"})}, {f})));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("value_float"), HasSubstr("'v'")));
}

TEST(OnnxFunctions, LeaveOutInputsAndOutputs) {
  const Function f = Function("F")
                         .in("a")
                         .in("low")
                         .in("high")
                         .out("b")
                         .out("unused")
                         .opset(13)
                         .node(node("Clip", {"a", "low", "high"}, {"b"}))
                         .node(node("Neg", {"a"}, {"unused"}));
  Loaded m;
  LK_ASSERT_OK(m.memory(of({call("F", {"x", "", "x"}, {"y"})}, {f})));
  const lk_node *clip = m.node("Clip");
  ASSERT_NE(clip, nullptr);
  EXPECT_EQ(clip->inputs[1], LK_NO_VALUE);
  EXPECT_EQ(clip->inputs[2], clip->inputs[0]);
  LK_ASSERT_OK(m.memory(of({call("F", {"x"}, {"y"})}, {f})));
  EXPECT_EQ(m.node("Clip")->inputs[2], LK_NO_VALUE);
}

TEST(OnnxFunctions, MayGiveBackAnInput) {
  const Function f = Function("F").in("a").out("a").opset(13);
  Loaded m;
  LK_ASSERT_OK(m.memory(of({call("F", {"x"}, {"y"})}, {f})));
  ASSERT_EQ(m.graph->n_nodes, 1u);
  EXPECT_STREQ(m.graph->nodes[0].op_type, "Identity");
}

TEST(OnnxFunctions, TakeNoNamesFromTheGraph) {
  Loaded m;
  LK_ASSERT_OK(m.memory(of(
      {node("Neg", {"x"}, {"h/sum"}), call("Twice", {"h/sum"}, {"h"}), node("Neg", {"h"}, {"y"})},
      {twice()})));
  EXPECT_EQ(m.graph->n_nodes, 4u);
  (void)m.value("h/sum_2");
}

TEST(OnnxFunctions, AreFoundByDomainAndOverload) {
  Function other = twice();
  other.m.text(13, "v2");
  other.m.add(7, node("Neg", {"a"}, {"more"}));
  Loaded m;
  LK_ASSERT_OK(m.memory(of({call("Twice", {"x"}, {"y"}).text(8, "v2")}, {twice(), other})));
  EXPECT_EQ(m.graph->n_nodes, 3u);
  LK_ASSERT_OK(m.memory(of({call("Twice", {"x"}, {"y"})}, {twice(), other})));
  EXPECT_EQ(m.graph->n_nodes, 2u);
}

TEST(OnnxFunctions, ThatAreNotCalledAreNotRead) {
  Loaded m;
  const Function broken = Function("Broken").in("a").out("b").opset(99);
  LK_EXPECT_OK(m.memory(of({node("Relu", {"x"}, {"y"})}, {broken})));
  LK_EXPECT_STATUS(LK_UNSUPPORTED, m.memory(of({call("Broken", {"x"}, {"y"})}, {broken})));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("Broken"), HasSubstr("opset 99")));
}

TEST(OnnxFunctions, OfBadModelsAreRefused) {
  Loaded m;
  const Function itself =
      Function("F").in("a").out("b").opset(13).opset(1, "local").node(call("F", {"a"}, {"b"}));
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, m.memory(of({call("F", {"x"}, {"y"})}, {itself})));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'F'"), HasSubstr("calls within calls")));

  // each calls the next one four times
  std::vector<Function> many;
  for (int i = 0; i < 20; i++) {
    const std::string next = "F" + std::to_string(i + 1);
    Function f("F" + std::to_string(i));
    f.in("a").out("b").opset(13).opset(1, "local");
    for (const auto &[from, to] : {std::pair("a", "c"), {"c", "d"}, {"d", "e"}, {"e", "b"}}) {
      f.node(i < 19 ? call(next, {from}, {to}) : node("Relu", {from}, {to}));
    }
    many.push_back(f);
  }
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, m.memory(of({call("F0", {"x"}, {"y"})}, many)));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("nodes"));

  LK_EXPECT_STATUS(LK_MALFORMED, m.memory(of({call("Twice", {"x", "x"}, {"y"})}, {twice()})));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("Twice"), HasSubstr("2 inputs"), HasSubstr("1 and 1")));
  LK_EXPECT_STATUS(LK_MALFORMED, m.memory(of({call("Twice", {"ghost"}, {"y"})}, {twice()})));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("ghost"));

  const Function writes_input =
      Function("F").in("a").out("b").opset(13).node(node("Relu", {"a"}, {"a"}));
  LK_EXPECT_STATUS(LK_MALFORMED, m.memory(of({call("F", {"x"}, {"y"})}, {writes_input})));
  const Function constant_input =
      Function("F")
          .in("a")
          .out("b")
          .opset(13)
          .node(node("Constant", {}, {"a"}, {attribute("value_float", kFloat).flt(2, 1)}))
          .node(node("Relu", {"a"}, {"b"}));
  LK_EXPECT_STATUS(LK_MALFORMED, m.memory(of({call("F", {"x"}, {"y"})}, {constant_input})));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("its output 'x' is made before, each name must be made once"));
  const Function no_output = Function("F").in("a").out("b").opset(13);
  LK_EXPECT_STATUS(LK_MALFORMED, m.memory(of({call("F", {"x"}, {"y"})}, {no_output})));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("output 'y' is not an input, a constant, or made by a node"));
  LK_EXPECT_STATUS(
      LK_MALFORMED,
      m.memory(of({node("Relu", {"x"}, {"y"}, {reference("alpha", kFloat, "s")})}, {})));
}

TEST(OnnxFunctions, EveryAllocationMayFail) {
  const std::string bytes =
      of({call("Twice", {"x"}, {"h"}), call("Twice", {"h"}, {"y"})}, {twice()});
  lk::fail_every_allocation([&](lk::FailingAllocator &allocator) {
    Loaded m;
    return m.memory(bytes, allocator.get());
  });
}

} // namespace
