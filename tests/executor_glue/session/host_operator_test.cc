// Sessions of models with nodes whose operator is a host's own.
#include "tests/executor_glue/session/small_model.h"
#include "tests/harness/folder.h"
#include "tests/ops/made_operator.h"

extern "C" {
#include "executor_glue/session/missing.h"
}

using lk::MadeOperator;
using lk::small::api;
using lk::small::Floats;
using lk::small::level2;
using lk::small::numbers;
using ::testing::HasSubstr;

namespace {

// A model that imports opset 1 of the host's domain.
std::string model_of(const proto::Graph &graph) {
  return proto::model(graph).add(8, proto::Message().text(1, "com.example").num(2, 1)).bytes;
}

proto::Message scaled(const std::vector<std::string> &inputs, const std::string &output, float a,
                      const std::string &name = "") {
  return proto::node("Scaled", inputs, {output}, {proto::attribute("a", proto::kFloat).flt(2, a)},
                     name)
      .text(7, "com.example");
}

// y = Relu(3 Relu(x) + Relu(x)), where the middle one is the host's.
std::string between() {
  proto::Graph g;
  g.in("x").out("y");
  g.node(proto::node("Relu", {"x"}, {"r"}));
  g.node(scaled({"r", "r"}, "m", 3, "middle"));
  g.node(proto::node("Relu", {"m"}, {"y"}));
  return model_of(g);
}

Floats four_times(const Floats &x) {
  Floats y;
  for (const float each : x) y.push_back(std::max(each, 0.0f) * 4);
  return y;
}

class HostOperatorSession : public lk::small::Session {
protected:
  void add(lk_operator table) {
    if (context == nullptr) open_context();
    LK_ASSERT_OK(api()->op_register(context, &table, LK_ERR));
  }
  void open_model(const std::string &model, int32_t run_plans = 1) {
    bytes = model;
    open(run_plans);
  }
  void expect_run(Floats x, const Floats &wanted) {
    std::vector<lk_named_tensor> outputs = {{"y", {}}};
    LK_ASSERT_OK(run({x_of(x)}, outputs));
    lk::small::expect_near(elements(outputs[0]), wanted);
    level2()->outputs_release(session, outputs.data(), 1);
  }
  std::string report() {
    char *text = nullptr;
    LK_EXPECT_OK(level2()->report(session, &text, LK_ERR));
    const std::string copy = text != nullptr ? text : "";
    level2()->report_release(session, text);
    return copy;
  }
  MadeOperator made;
};

TEST_F(HostOperatorSession, RunsModelsThatHaveIt) {
  add(made.table());
  for (const int32_t run_plans : {0, 1}) {
    open_model(between(), run_plans);
    for (const size_t rows : {3, 5, 3, 1, 5}) {
      const Floats x = numbers(rows, float(rows));
      expect_run(x, four_times(x));
    }
    level2()->close(session);
    session = nullptr;
  }
  EXPECT_EQ(made.runs, 10);
  EXPECT_LE(made.infers, 2 * 3 + 2) << "plans of known sizes are found";
}

TEST_F(HostOperatorSession, MayBeAWork) {
  made.work = [](const lk_operator_node *, const lk_operator_shapes *, lk_operator_work *out,
                 lk_error *) {
    out->work.kind = LK_WORK_ELEMENT;
    out->work.roles = 1u << LK_ROLE_SRC | 1u << LK_ROLE_OPERAND | 1u << LK_ROLE_DST;
    out->inputs[LK_ROLE_OPERAND] = 1;
    out->work.post_ops[0] = {LK_POST_LINEAR, 0, 3, 0};
    out->work.post_ops[1] = {LK_POST_ADD, LK_ROLE_OPERAND, 0, 0};
    out->work.n_post_ops = 2;
    return LK_OK;
  };
  add(made.table());
  open_model(between());
  for (const size_t rows : {3, 5, 3}) {
    const Floats x = numbers(rows, float(rows));
    expect_run(x, four_times(x));
  }
  EXPECT_GT(made.works, 0);
}

TEST_F(HostOperatorSession, IsRefusedWhereItIsNotRegistered) {
  open_context();
  const std::string model = between();
  LK_EXPECT_STATUS(LK_UNSUPPORTED, level2()->open_memory(context, model.data(), model.size(),
                                                         nullptr, &session, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("node 'middle' (Scaled)"));
}

TEST_F(HostOperatorSession, HasAttributesThatItLists) {
  lk_operator table = made.table();
  table.n_attrs = 0;
  add(table);
  const std::string model = between();
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->open_memory(context, model.data(), model.size(),
                                                              nullptr, &session, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("node 'middle' (Scaled)"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("it has no attribute 'a'"));
}

// In the graph itself and in a body, as an operator of the library does.
TEST_F(HostOperatorSession, HasOneNumberOrAListAsItSays) {
  const auto refused = [&](const proto::Message &attribute, const char *sentence) {
    const proto::Message node =
        proto::node("Scaled", {"x"}, {"y"}, {attribute}, "middle").text(7, "com.example");
    proto::Graph plain, branch, around;
    plain.node(node).in("x").out("y");
    branch.node(node).out("y");
    around.in("x").in("c", LK_BOOL, {}).out("z");
    around.node(proto::node("If", {"c"}, {"z"},
                            {proto::attribute("then_branch", proto::kGraph).add(6, branch.m),
                             proto::attribute("else_branch", proto::kGraph).add(6, branch.m)}));
    for (const proto::Graph &graph : {plain, around}) {
      const std::string model = model_of(graph);
      LK_EXPECT_STATUS(LK_MALFORMED, level2()->open_memory(context, model.data(), model.size(),
                                                           nullptr, &session, LK_ERR));
      EXPECT_THAT(LK_MESSAGE, HasSubstr("node 'middle' (Scaled)"));
      EXPECT_THAT(LK_MESSAGE, HasSubstr(sentence));
    }
  };
  for (const bool lists : {false, true}) {
    lk_operator table = made.table();
    made.attr.is_list = lists;
    add(table);
    if (lists) {
      refused(proto::attribute("a", proto::kFloat).flt(2, 3),
              "attribute 'a' holds a float, it must hold a list of floats");
    } else {
      refused(proto::attribute("a", proto::kFloats).flt(7, 3),
              "attribute 'a' holds a list of floats, it must hold a float");
    }
    api()->context_destroy(context);
    context = nullptr;
  }
}

TEST_F(HostOperatorSession, IsReportedByName) {
  add(made.table());
  open_model(between());
  const Floats x = numbers(3, 1);
  expect_run(x, four_times(x));
  const std::string text = report();
  EXPECT_THAT(text, HasSubstr("\"Scaled\""));
  EXPECT_THAT(text, HasSubstr("\"com.example\""));
  EXPECT_THAT(text, HasSubstr("host:Scaled"));
}

// What a look at a file without opening it says of its nodes.
TEST_F(HostOperatorSession, IsMissingOnlyWhereItIsNotRegistered) {
  const lk::Folder folder;
  const std::string path = folder.write("model.onnx", between());
  std::string reasons;
  lk_missing_told told = {};
  told.arg = &reasons;
  told.node = [](void *arg, const lk_missing_node *node, lk_error *) {
    *static_cast<std::string *>(arg) += std::string(node->op_type) + ": " + node->reason;
    return LK_OK;
  };
  told.other = [](void *arg, const char *sentence, lk_error *) {
    *static_cast<std::string *>(arg) += sentence;
    return LK_OK;
  };
  const lk_session_options options = LK_SESSION_OPTIONS_INIT;
  open_context();
  LK_ASSERT_OK(lk_model_find_missing(context, path.c_str(), &options, &told, LK_ERR));
  EXPECT_THAT(reasons, HasSubstr("Scaled: "));
  reasons.clear();
  api()->context_destroy(context);
  context = nullptr;
  add(made.table());
  LK_ASSERT_OK(lk_model_find_missing(context, path.c_str(), &options, &told, LK_ERR));
  EXPECT_EQ(reasons, "");
}

// y = x + Scaled(w)
std::string of_constants() {
  proto::Graph g;
  g.in("x").out("y");
  g.init(proto::tensor("w", LK_F32, {4}, proto::kRawData, proto::raw(Floats{1, 2, 3, 4})));
  g.node(scaled({"w"}, "s", 2));
  g.node(proto::node("Add", {"x", "s"}, {"y"}));
  return model_of(g);
}

TEST_F(HostOperatorSession, IsComputedOnceOfConstants) {
  add(made.table());
  open_model(of_constants());
  EXPECT_EQ(made.runs, 1);
  for (const float start : {1.0f, 2.0f}) {
    const Floats x = numbers(1, start);
    expect_run(x, {x[0] + 2, x[1] + 4, x[2] + 6, x[3] + 8});
  }
  EXPECT_EQ(made.runs, 1);
}

TEST_F(HostOperatorSession, OfConstantsIsNamedWhereItFindsNoMemory) {
  made.infer = [](const lk_operator_node *node, lk_operator_shapes *out, lk_error *error) {
    const lk_status status = MadeOperator::same_as_first(node, out, error);
    out->scratch_bytes = uint64_t{1} << 46;
    return status;
  };
  add(made.table());
  const std::string model = of_constants();
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, level2()->open_memory(context, model.data(), model.size(),
                                                           nullptr, &session, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("node 's' (Scaled): failed to allocate"));
}

TEST_F(HostOperatorSession, IsComputedAnewWhereItIsRandom) {
  lk_operator table = made.table();
  table.flags = LK_OPERATOR_RANDOM;
  add(table);
  open_model(of_constants());
  EXPECT_EQ(made.runs, 0);
  const Floats x = numbers(1, 1);
  expect_run(x, {x[0] + 2, x[1] + 4, x[2] + 6, x[3] + 8});
  expect_run(x, {x[0] + 2, x[1] + 4, x[2] + 6, x[3] + 8});
  EXPECT_EQ(made.runs, 2);
}

// A body of If has nodes of it, too.
TEST_F(HostOperatorSession, IsInBodies) {
  proto::Graph then_graph, else_graph, g;
  then_graph.node(scaled({"x"}, "t", 2)).out("t");
  else_graph.node(scaled({"x"}, "e", 5)).out("e");
  g.in("x").in("c", LK_BOOL, {}).out("y");
  g.node(proto::node("If", {"c"}, {"y"},
                     {proto::attribute("then_branch", proto::kGraph).add(6, then_graph.m),
                      proto::attribute("else_branch", proto::kGraph).add(6, else_graph.m)}));
  add(made.table());
  open_model(model_of(g));
  for (const bool condition : {true, false}) {
    Floats x = numbers(2, 1);
    bool c = condition;
    std::vector<lk_named_tensor> outputs = {{"y", {}}};
    LK_ASSERT_OK(run({x_of(x), named("c", {}, &c, LK_BOOL)}, outputs));
    Floats wanted;
    for (const float each : x) wanted.push_back(each * (condition ? 2 : 5));
    EXPECT_EQ(elements(outputs[0]), wanted);
    level2()->outputs_release(session, outputs.data(), 1);
  }
}

// Operators on sequences, and those with bodies, are the session's own, whatever is registered.
TEST_F(HostOperatorSession, IsNotAskedForWhatSessionsRun) {
  MadeOperator others[3];
  const char *const names[] = {"SequenceConstruct", "SequenceAt", "If"};
  for (size_t i = 0; i < 3; i++) {
    lk_operator table = others[i].table(names[i], nullptr);
    table.flags = LK_OPERATOR_INFERS_OPEN;
    table.n_attrs = 0;
    table.input_types = "?";
    table.close = nullptr; // the context lives longer than `others`
    add(table);
  }
  proto::Graph then_graph, else_graph, g;
  then_graph.node(proto::node("Relu", {"e"}, {"t"})).out("t", LK_F32, {"4"});
  else_graph.node(proto::node("Neg", {"e"}, {"n"})).out("n", LK_F32, {"4"});
  g.in("x").in("c", LK_BOOL, {}).out("y");
  g.init(proto::tensor("w", LK_F32, {4}, proto::kRawData, proto::raw(Floats{1, 2, 3, 4})));
  g.init(proto::tensor("first", LK_I64, {}, proto::kInt64Data,
                       proto::varints(std::vector<int64_t>{0})));
  g.node(proto::node("SequenceConstruct", {"w", "w"}, {"s"}));
  g.node(proto::node("SequenceAt", {"s", "first"}, {"e"}));
  g.node(proto::node("If", {"c"}, {"b"},
                     {proto::attribute("then_branch", proto::kGraph).add(6, then_graph.m),
                      proto::attribute("else_branch", proto::kGraph).add(6, else_graph.m)}));
  g.node(proto::node("Add", {"x", "b"}, {"y"}));
  open_model(model_of(g));
  Floats x = numbers(1, 1);
  bool c = false;
  std::vector<lk_named_tensor> outputs = {{"y", {}}};
  LK_ASSERT_OK(run({x_of(x), named("c", {}, &c, LK_BOOL)}, outputs));
  EXPECT_EQ(elements(outputs[0]), (Floats{x[0] - 1, x[1] - 2, x[2] - 3, x[3] - 4}));
  level2()->outputs_release(session, outputs.data(), 1);
  for (const MadeOperator &each : others) EXPECT_EQ(each.infers + each.runs, 0);
}

// y = Scaled(x, by a number of rows that the model computes)
TEST_F(HostOperatorSession, ReadsShapesThatTheModelComputes) {
  lk_operator table = made.table();
  table.input_types = "TU";
  table.types[1] = LK_TYPE(LK_I64);
  table.shape_inputs = 2;
  made.infer = [](const lk_operator_node *n, lk_operator_shapes *out, lk_error *) {
    out->outputs[0].rank = 1;
    out->outputs[0].dims[0] = static_cast<const int64_t *>(n->inputs[1].data)[0];
    return LK_OK;
  };
  made.run = [](const lk_operator_run *run, lk_error *) {
    for (int64_t i = 0; i < run->outputs[0].dims[0]; i++) {
      static_cast<float *>(run->output_data[0])[i] = float(i);
    }
    return LK_OK;
  };
  add(table);
  proto::Graph g;
  g.in("x").out("y", LK_F32, {"M"});
  g.node(proto::node("Shape", {"x"}, {"s"}));
  g.node(scaled({"x", "s"}, "y", 2));
  open_model(model_of(g));
  for (const size_t rows : {3, 1, 3}) {
    Floats wanted;
    for (size_t i = 0; i < rows; i++) wanted.push_back(float(i));
    expect_run(numbers(rows, 1), wanted);
  }
}

TEST_F(HostOperatorSession, TellsWhyAModelCannotBeOpened) {
  made.infer = [](const lk_operator_node *, lk_operator_shapes *, lk_error *error) {
    std::snprintf(error->message, sizeof error->message, "the host's own heap is full");
    return LK_OUT_OF_MEMORY;
  };
  lk_operator table = made.table();
  table.flags = LK_OPERATOR_INFERS_OPEN;
  add(table);
  const std::string model = between();
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, level2()->open_memory(context, model.data(), model.size(),
                                                           nullptr, &session, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("node 'middle' (Scaled)"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the host's own heap is full"));
}

TEST_F(HostOperatorSession, TellsWhyARunFails) {
  add(made.table());
  open_model(between());
  made.run = [](const lk_operator_run *, lk_error *error) {
    std::snprintf(error->message, sizeof error->message, "the table of the host is empty");
    return LK_NOT_FOUND;
  };
  Floats x = numbers(2, 1);
  std::vector<lk_named_tensor> outputs = {{"y", {}}};
  LK_EXPECT_STATUS(LK_NOT_FOUND, run({x_of(x)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'middle'"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the table of the host is empty"));
  made.run = MadeOperator::scale_and_add;
  expect_run(x, four_times(x));
}

TEST_F(HostOperatorSession, OpensCleanlyWithoutMemory) {
  for (size_t n = 1;; n++) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    ASSERT_LT(n, 100000u) << "does not come to an end";
    add(made.table());
    bytes = between();
    allocator.fail_at(n);
    const lk_status status =
        level2()->open_memory(context, bytes.data(), bytes.size(), nullptr, &session, LK_ERR);
    const bool failed = allocator.failed();
    allocator.fail_never();
    lk::test_error().passed = false;
    if (status != LK_OK) {
      EXPECT_EQ(status, LK_OUT_OF_MEMORY) << LK_MESSAGE;
    } else {
      const Floats x = numbers(2, 1);
      expect_run(x, four_times(x));
    }
    level2()->close(session);
    session = nullptr;
    api()->context_destroy(context);
    context = nullptr;
    if (!failed) break;
  }
}

} // namespace
