// Models on the provider: outputs equal those of ONNX Runtime's own operators, and the right nodes
// are claimed.
#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"

using ::testing::AllOf;
using ::testing::HasSubstr;

namespace ort {
namespace {

class SessionTest : public ::testing::Test {
protected:
  // On the provider and without it, with the same inputs, one run after the other.
  void expect_as_cpu(const std::string &model, const std::vector<Inputs> &runs,
                     const Names &outputs) {
    const Session reference(host, model, cpu), session(host, model, all);
    ASSERT_EQ(reference.error(), "");
    ASSERT_EQ(session.error(), "");
    for (size_t i = 0; i < runs.size(); i++) {
      SCOPED_TRACE("run " + std::to_string(i));
      const Outcome wanted = reference.run(runs[i], outputs), got = session.run(runs[i], outputs);
      ASSERT_EQ(wanted.error, "");
      ASSERT_EQ(got.error, "");
      expect_same(got.outputs, wanted.outputs);
    }
    const Report report = session.report(runs[0], outputs);
    claimed = report.number("claims.claimed");
    subgraphs = report.number("claims.subgraphs");
    left = report.left();
  }

  Host host;
  Options cpu = [] {
    Options options;
    options.on_provider = false;
    return options;
  }();
  Options all = [] { // groups of one light node, too
    Options options;
    options.provider = {{"claim", "all"}};
    return options;
  }();
  json_int_t claimed = -1, subgraphs = -1; // of the last expect_as_cpu
  std::map<std::string, json_int_t> left;
};

TEST_F(SessionTest, MakesTheNumbersOfOnnxRuntime) {
  expect_as_cpu(classifier({"2", "3", "12", "9"}),
                {{{"x", noise({2, 3, 12, 9}, 5)}}, {{"x", noise({2, 3, 12, 9}, 6)}}}, {"y"});
  EXPECT_EQ(claimed, 9);
  EXPECT_EQ(subgraphs, 1);
  EXPECT_TRUE(left.empty());
}

TEST_F(SessionTest, TakesShapesThatChange) {
  std::vector<Inputs> runs;
  for (const std::vector<int64_t> &dims : {std::vector<int64_t>{1, 3, 8, 8},
                                           {5, 3, 8, 8},
                                           {1, 3, 17, 30},
                                           {1, 3, 8, 8},
                                           {3, 3, 1, 1}}) {
    runs.push_back({{"x", noise(dims, 7)}});
  }
  expect_as_cpu(classifier(), runs, {"y"});
  EXPECT_EQ(claimed, 9);
}

TEST_F(SessionTest, TakesInputsWithoutElements) {
  std::vector<Inputs> runs;
  for (const int64_t rows : {0, 3, 0, 1, 0, 7}) runs.push_back({{"x", noise({rows, 4}, 8)}});
  expect_as_cpu(perceptron(), runs, {"y"});
  EXPECT_EQ(claimed, 4);
}

TEST_F(SessionTest, TakesManyInputs) {
  proto::Graph g;
  Inputs inputs;
  Names names;
  for (int i = 0; i < 20; i++) {
    names.push_back("x" + std::to_string(i));
    g.in(names.back(), LK_F32, {"N", "2"});
    inputs.emplace_back(names.back(), noise({3, 2}, uint32_t(i)));
  }
  g.out("y", LK_F32, {"N", "40"});
  g.node(proto::node("Concat", names, {"c"}, {int_attribute("axis", 1)}));
  g.node(proto::node("Relu", {"c"}, {"y"}));
  expect_as_cpu(bytes_of(g), {inputs}, {"y"});
  EXPECT_EQ(claimed, 2);
}

TEST_F(SessionTest, TakesScalars) {
  proto::Graph g;
  g.in("x", LK_F32, {}).in("v", LK_F32, {"N"}).out("y", LK_F32, {"N"}).out("z", LK_F32, {});
  g.node(proto::node("Add", {"v", "x"}, {"s"}));
  g.node(proto::node("Relu", {"s"}, {"y"}));
  g.node(proto::node("Mul", {"x", "x"}, {"z"}));
  expect_as_cpu(bytes_of(g), {{{"x", noise({}, 1)}, {"v", noise({5}, 2)}}}, {"y", "z"});
  EXPECT_EQ(claimed, 3);
}

// Outputs that are values inside a claim, asked for in another order than they are made.
TEST_F(SessionTest, HandsOutWhatIsUsedFurther) {
  proto::Graph g;
  g.in("x").out("y").out("h").out("r");
  g.init(weights("w", {4, 4}, 3));
  g.node(proto::node("MatMul", {"x", "w"}, {"h"}));
  g.node(proto::node("Relu", {"h"}, {"r"}));
  g.node(proto::node("Add", {"r", "h"}, {"y"}));
  expect_as_cpu(bytes_of(g), {{{"x", noise({2, 4}, 1)}}, {{"x", noise({6, 4}, 2)}}},
                {"r", "y", "h"});
  EXPECT_EQ(claimed, 3);
}

// Only one of two outputs is asked for: the other one's nodes are in the same claim.
TEST_F(SessionTest, RunsForSomeOfTheOutputs) {
  proto::Graph g;
  g.in("x").out("y").out("z");
  g.node(proto::node("Relu", {"x"}, {"y"})).node(proto::node("Sigmoid", {"x"}, {"z"}));
  expect_as_cpu(bytes_of(g), {{{"x", noise({2, 4}, 1)}}}, {"z"});
  EXPECT_EQ(claimed, 2);
}

// ---- values that shapes depend on ----

TEST_F(SessionTest, ReadsAShapeThatIsAnInputByValue) {
  proto::Graph g;
  g.in("x").in("shape", LK_I64, {"2"}).out("y", LK_F32, {"A", "B"});
  g.node(proto::node("Relu", {"x"}, {"r"}));
  g.node(proto::node("Reshape", {"r", "shape"}, {"v"}));
  g.node(proto::node("Softmax", {"v"}, {"y"}, {int_attribute("axis", -1)}));
  std::vector<Inputs> runs;
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{6, 4}, {4, 6}, {-1, 12}, {4, 6}, {0, 4}, {1, -1}}) {
    runs.push_back({{"x", noise({6, 4}, 4)}, {"shape", tensor<int64_t>({2}, shape)}});
  }
  expect_as_cpu(bytes_of(g), runs, {"y"});
  EXPECT_EQ(claimed, 3);
  EXPECT_EQ(subgraphs, 1);
}

TEST_F(SessionTest, SaysWhatIsWrongWithAShapeInARun) {
  proto::Graph g;
  g.in("x").in("shape", LK_I64, {"2"}).out("y", LK_F32, {"A", "B"});
  g.node(proto::node("Relu", {"x"}, {"r"})).node(proto::node("Reshape", {"r", "shape"}, {"y"}));
  const Session session(host, bytes_of(g));
  const auto run = [&](const std::vector<int64_t> &shape) {
    return session.run({{"x", noise({6, 4}, 4)}, {"shape", tensor<int64_t>({2}, shape)}}, {"y"});
  };
  const Outcome wrong = run({5, 7});
  EXPECT_THAT(wrong.error, HasSubstr("Reshape"));
  EXPECT_TRUE(wrong.outputs.empty());
  const Outcome right = run({8, 3});
  EXPECT_EQ(right.error, "");
  EXPECT_EQ(right.outputs.at(0).dims, std::vector<int64_t>({8, 3}));
}

TEST_F(SessionTest, SaysWhichInputsOfARunDoNotFit) {
  proto::Graph g;
  g.in("a", LK_F32, {"N"}).in("b", LK_F32, {"M"}).out("y", LK_F32, {"K"});
  g.node(proto::node("Add", {"a", "b"}, {"s"}, {}, "sum")).node(proto::node("Relu", {"s"}, {"y"}));
  const Session session(host, bytes_of(g));
  const auto run = [&](int64_t n, int64_t m) {
    return session.run({{"a", noise({n}, 4)}, {"b", noise({m}, 5)}}, {"y"});
  };
  for (int i = 0; i < 3; i++) { // a failure is not remembered as one of other shapes
    const Outcome wrong = run(5, 7);
    EXPECT_THAT(wrong.error, AllOf(HasSubstr("Add"), HasSubstr("5"), HasSubstr("7")));
    EXPECT_TRUE(wrong.outputs.empty());
    EXPECT_EQ(run(7, 7).error, "");
    EXPECT_EQ(run(1, 7).error, "");
  }
}

TEST_F(SessionTest, ComputesShapesFromShapes) {
  proto::Graph g;
  g.in("x", LK_F32, {"N", "4", "6"}).out("y", LK_F32, {"M", "24"});
  g.init(ints("zero", {0})).init(ints("rest", {24}));
  g.node(proto::node("Relu", {"x"}, {"r"}));
  g.node(proto::node("Shape", {"x"}, {"s"}));
  g.node(proto::node("Gather", {"s", "zero"}, {"n"}, {int_attribute("axis", 0)}));
  g.node(proto::node("Concat", {"n", "rest"}, {"target"}, {int_attribute("axis", 0)}));
  g.node(proto::node("Reshape", {"r", "target"}, {"y"}));
  expect_as_cpu(bytes_of(g), {{{"x", noise({2, 4, 6}, 1)}}, {{"x", noise({5, 4, 6}, 2)}}}, {"y"});
  EXPECT_EQ(subgraphs, 1);
}

// The target shape is computed in the run, by Cast of a ReduceMean: two claims, not a failure.
TEST_F(SessionTest, IsCutWhereAShapeComesFromData) {
  proto::Graph g;
  g.in("x").out("y", LK_F32, {"A", "B"});
  g.init(ints("rest", {-1}));
  g.node(proto::node("ReduceMean", {"x"}, {"m"}, {int_attribute("keepdims", 0)}));
  g.node(proto::node("Cast", {"m"}, {"c"}, {int_attribute("to", LK_I64)}));
  g.init(ints("one", {1}));
  g.node(proto::node("Reshape", {"c", "one"}, {"rows"}));
  g.node(proto::node("Concat", {"rows", "rest"}, {"target"}, {int_attribute("axis", 0)}));
  g.node(proto::node("Relu", {"x"}, {"r"}));
  g.node(proto::node("Reshape", {"r", "target"}, {"v"}));
  g.node(proto::node("Softmax", {"v"}, {"y"}, {int_attribute("axis", -1)}));
  std::vector<Inputs> runs;
  for (const float value : {2.25f, 3.5f, 6.0f, 2.75f}) {
    runs.push_back({{"x", tensor<float>({6, 4}, std::vector<float>(24, value))}});
  }
  expect_as_cpu(bytes_of(g), runs, {"y"});
  EXPECT_EQ(subgraphs, 2);
}

// ---- inputs that need not be there ----

TEST_F(SessionTest, LeavesOutOptionalInputs) {
  proto::Graph g;
  g.in("x").in("low", LK_F32, {}).out("y").out("z");
  g.init(number("high", 0.25f));
  g.node(proto::node("Clip", {"x", "", "high"}, {"c"}));
  g.node(proto::node("Relu", {"c"}, {"y"}));
  g.node(proto::node("Clip", {"x", "low"}, {"z"}));
  expect_as_cpu(bytes_of(g),
                {{{"x", noise({3, 4}, 1)}, {"low", tensor<float>({}, {-0.5f})}},
                 {{"x", noise({3, 4}, 1)}, {"low", tensor<float>({}, {0.5f})}}},
                {"y", "z"});
  EXPECT_EQ(claimed, 3);
}

// An initializer that is also an input is a default, which a run may replace: by another shape too.
TEST_F(SessionTest, TakesInitializersThatARunReplaces) {
  proto::Graph g;
  g.in("x").in("w", LK_F32, {"4", "M"}).out("y", LK_F32, {"N", "M"});
  g.init(weights("w", {4, 5}, 9));
  g.node(proto::node("MatMul", {"x", "w"}, {"h"})).node(proto::node("Relu", {"h"}, {"y"}));
  const Inputs as_it_is = {{"x", noise({3, 4}, 1)}};
  Inputs replaced = as_it_is, larger = as_it_is;
  replaced.emplace_back("w", noise({4, 5}, 77));
  larger.emplace_back("w", noise({4, 5}, 78));
  expect_as_cpu(bytes_of(g), {as_it_is, replaced, as_it_is, larger, replaced}, {"y"});
  EXPECT_EQ(claimed, 2);
}

// ---- graphs that are claimed in part ----

TEST_F(SessionTest, LeavesAnUnsupportedOperatorInTheMiddle) {
  proto::Graph g;
  g.in("x").out("y").out("skip");
  g.init(weights("w", {4, 4}, 3));
  g.node(proto::node("MatMul", {"x", "w"}, {"a"}));
  g.node(proto::node("Relu", {"a"}, {"b"}));
  add_unsupported(&g, "b", "c");
  g.node(proto::node("MatMul", {"c", "w"}, {"d"}));
  g.node(proto::node("Add", {"d", "b"}, {"y"}));
  g.node(proto::node("Sigmoid", {"b"}, {"skip"}));
  expect_as_cpu(bytes_of(g), {{{"x", noise({2, 4}, 1)}}, {{"x", noise({9, 4}, 2)}}}, {"y", "skip"});
  EXPECT_EQ(claimed, 4); // the second MatMul and Add come as one Gemm
  EXPECT_EQ(subgraphs, 2);
  EXPECT_EQ(left, (std::map<std::string, json_int_t>{{"SampleOp", 1}}));
}

TEST_F(SessionTest, LeavesOperatorsOfOtherTypes) {
  proto::Graph g;
  g.in("x", LK_F64, {"N"}).out("y", LK_F64, {"N"});
  g.node(proto::node("Add", {"x", "x"}, {"h"}));
  g.node(proto::node("Cast", {"h"}, {"text"}, {int_attribute("to", 8)})); // a string
  g.node(proto::node("Cast", {"text"}, {"y"}, {int_attribute("to", 11)}));
  const Tensor x = tensor<double>({3}, {-1.5, 0.25, 3});
  expect_as_cpu(bytes_of(g), {{{"x", x}}}, {"y"});
  EXPECT_EQ(claimed, 1); // Add takes all numbers
  EXPECT_EQ(left, (std::map<std::string, json_int_t>{{"Cast", 2}}));
}

TEST_F(SessionTest, LeavesShapeArithmeticAlone) {
  proto::Graph g;
  g.in("x").out("y", LK_I64, {"2"});
  g.node(proto::node("Shape", {"x"}, {"s"})).node(proto::node("Mul", {"s", "s"}, {"y"}));
  const Session session(host, bytes_of(g));
  ASSERT_EQ(session.error(), "");
  const Report report = session.report({{"x", noise({3, 4}, 1)}}, {"y"});
  EXPECT_EQ(report.number("claims.claimed"), 0);
  EXPECT_EQ(report.number("claims.subgraphs"), 0);
  const Outcome outcome = session.run({{"x", noise({3, 4}, 1)}}, {"y"});
  EXPECT_EQ(outcome.outputs.at(0).data<int64_t>(), std::vector<int64_t>({9, 16}));
}

// ---- graphs inside nodes ----

// Both bodies read a value of the graph around them; one has nodes that are claimed, on both sides.
std::string model_with_if() {
  proto::Graph then_graph, else_graph, g;
  then_graph.init(weights("w", {4, 4}, 21));
  then_graph.node(proto::node("MatMul", {"h", "w"}, {"t1"}));
  then_graph.node(proto::node("Relu", {"t1"}, {"then_y"})).out("then_y");
  else_graph.node(proto::node("Sigmoid", {"h"}, {"e1"}));
  add_unsupported(&else_graph, "e1", "e2");
  else_graph.node(proto::node("Relu", {"e2"}, {"else_y"})).out("else_y");
  g.in("x").in("which", LK_BOOL, {}).out("y");
  g.node(proto::node("Relu", {"x"}, {"h"}));
  g.node(proto::node(
      "If", {"which"}, {"chosen"},
      {graph_attribute("then_branch", then_graph), graph_attribute("else_branch", else_graph)}));
  g.node(proto::node("Add", {"chosen", "h"}, {"y"}));
  return bytes_of(g);
}

TEST_F(SessionTest, ClaimsInsideTheBodiesOfIf) {
  std::vector<Inputs> runs;
  for (const bool which : {true, false, true, true, false}) {
    runs.push_back({{"x", noise({runs.size() % 2 == 0 ? 3 : 5, 4}, 3)}, {"which", flag(which)}});
  }
  expect_as_cpu(model_with_if(), runs, {"y"});
  if (is_at_least(24)) {
    EXPECT_EQ(claimed, 6);
    EXPECT_EQ(subgraphs, 5);
    EXPECT_EQ(left, (std::map<std::string, json_int_t>{{"SampleOp", 1}, {"If", 1}}));
  } else { // it cannot fuse in there
    EXPECT_EQ(claimed, 2);
    EXPECT_EQ(subgraphs, 2);
  }
}

TEST_F(SessionTest, ClaimsInsideTheBodyOfLoop) {
  proto::Graph body, g;
  body.in("i", LK_I64, {}).in("go_on", LK_BOOL, {}).in("state");
  body.node(proto::node("Identity", {"go_on"}, {"still"}));
  body.node(proto::node("MatMul", {"state", "w"}, {"h"}));
  body.node(proto::node("Add", {"h", "x"}, {"a"}));
  body.node(proto::node("Sigmoid", {"a"}, {"next"}));
  body.node(proto::node("Relu", {"a"}, {"seen"}));
  body.out("still", LK_BOOL, {}).out("next").out("seen");
  g.in("x").in("times", LK_I64, {}).out("last").out("all", LK_F32, {"T", "N", "4"});
  g.init(weights("w", {4, 4}, 31));
  g.node(proto::node("Relu", {"x"}, {"start"}));
  g.node(proto::node("Loop", {"times", "", "start"}, {"last", "all"},
                     {graph_attribute("body", body)}));
  std::vector<Inputs> runs;
  for (const int64_t times : {1, 4, 2}) {
    runs.push_back({{"x", noise({3, 4}, 5)}, {"times", tensor<int64_t>({}, {times})}});
  }
  expect_as_cpu(bytes_of(g), runs, {"last", "all"});
  if (is_at_least(24)) {
    EXPECT_EQ(claimed, 4); // MatMul and Add come as one Gemm; Identity of the flag works on nothing
    EXPECT_EQ(left, (std::map<std::string, json_int_t>{{"Identity", 1}, {"Loop", 1}}));
  } else {
    EXPECT_EQ(claimed, 1);
  }
}

TEST_F(SessionTest, RunsABodyThatReadsNothingAroundIt) {
  proto::Graph body, g;
  body.in("i", LK_I64, {}).in("go_on", LK_BOOL, {}).in("state");
  body.node(proto::node("Identity", {"go_on"}, {"still"}));
  body.node(proto::node("Sigmoid", {"state"}, {"next"}));
  body.out("still", LK_BOOL, {}).out("next");
  g.in("x").in("times", LK_I64, {}).out("y");
  g.node(proto::node("Loop", {"times", "", "x"}, {"last"}, {graph_attribute("body", body)}));
  g.node(proto::node("Relu", {"last"}, {"y"}));
  expect_as_cpu(bytes_of(g), {{{"x", noise({3, 4}, 5)}, {"times", tensor<int64_t>({}, {3})}}},
                {"y"});
  EXPECT_EQ(claimed, 1); // nothing says of which rank `last` is
}

// To an old ONNX Runtime's provider, the graph of this body looks like a model.
TEST_F(SessionTest, RunsTheBodyOfScan) {
  proto::Graph body, g;
  body.in("sum", LK_F32, {"4"}).in("row", LK_F32, {"4"});
  body.node(proto::node("Add", {"sum", "row"}, {"next"}));
  body.node(proto::node("Sigmoid", {"next"}, {"seen"}));
  body.out("next", LK_F32, {"4"}).out("seen", LK_F32, {"4"});
  g.in("x").in("start", LK_F32, {"4"}).out("y");
  g.node(proto::node("Scan", {"start", "x"}, {"last", "all"},
                     {graph_attribute("body", body), int_attribute("num_scan_inputs", 1)}));
  g.node(proto::node("Relu", {"all"}, {"y"}));
  expect_as_cpu(bytes_of(g), {{{"x", noise({6, 4}, 5)}, {"start", noise({4}, 6)}}}, {"y"});
  EXPECT_EQ(claimed, is_at_least(24) ? 3 : 2);
  EXPECT_EQ(subgraphs, is_at_least(24) ? 2 : 1);
}

// ---- what the log has of it ----

TEST(SessionLog, HasOneLineOfEachSession) {
  Host host(true, ORT_LOGGING_LEVEL_INFO);
  proto::Graph g;
  g.in("x").out("y");
  g.node(proto::node("Relu", {"x"}, {"a"})).node(proto::node("Sigmoid", {"a"}, {"b"}));
  add_unsupported(&g, "b", "y");
  const std::string model = bytes_of(g), start = "LatchkeyExecutionProvider: ";
  EXPECT_EQ(Session(host, model).error(), "");
  ASSERT_EQ(host.lines(start).size(), 1u);
  EXPECT_THAT(host.lines(start)[0], HasSubstr("2 of 3 nodes"));
  EXPECT_THAT(host.lines(start)[0], HasSubstr("SampleOp"));
  EXPECT_EQ(Session(host, model_with_if()).error(), "");
  EXPECT_EQ(host.lines(start).size(), 2u);
}

} // namespace
} // namespace ort
