// Constants that bodies read: they move into the last body that reads them and are copied for
// others, whichever passes are switched off.
#include "tests/executor_glue/session/small_model.h"

namespace {

using namespace lk::small;
using namespace proto;

Message body(const std::string &name, const Graph &graph) {
  return attribute(name, kGraph).add(6, graph.m);
}

Message sum(const std::string &a, const std::string &b, const std::string &to) {
  return node("Add", {a, b}, {to});
}

// A whole number that is decoded when the model is read, so the graph has its bytes.
void decoded(Graph &g, const std::string &name, int64_t value) {
  g.init(tensor(name, LK_I64, {1}, kInt64Data, varints(std::vector<int64_t>{value})));
}
Message as_float(const std::string &name) {
  return node("Cast", {name}, {name + "_f"}, {attribute("to", kInt).num(3, LK_F32)});
}
// One whose bytes lie in the file.
void mapped(Graph &g, const std::string &name, float value) {
  g.init(tensor(name, LK_F32, {1}, kRawData, raw(Floats{value})));
}

// h = c ? x + once + both + made : x * file + both, by an If
// k = h + decided, by an If whose condition is a constant
// n times: k = (c ? k + inner : k) + shared, by a Loop with an If in it
// y = k + shared
std::string model_of_bodies() {
  Graph g, yes, no, known, same, more, less, loop;
  g.in("x").in("c", LK_BOOL, {}).in("n", LK_I64, {}).out("y");
  decoded(g, "once", 1);
  decoded(g, "both", 2);
  decoded(g, "inner", 8);
  decoded(g, "shared", 16);
  decoded(g, "decided", 32);
  mapped(g, "file", 3);
  mapped(g, "other", 1);
  g.init(tensor("true", LK_BOOL, {}, kInt32Data, varint(1)));
  g.node(sum("file", "other", "made"));

  yes.node(as_float("once")).node(as_float("both"));
  yes.node(sum("x", "once_f", "a")).node(sum("a", "both_f", "b")).node(sum("b", "made", "v"));
  no.node(as_float("both")).node(node("Mul", {"x", "file"}, {"a"})).node(sum("a", "both_f", "v"));
  g.node(node("If", {"c"}, {"h"},
              {body("then_branch", yes.out("v")), body("else_branch", no.out("v"))}, "choice"));

  known.node(as_float("decided")).node(sum("h", "decided_f", "v")).out("v");
  same.node(node("Identity", {"h"}, {"v"})).out("v");
  g.node(node("If", {"true"}, {"k"}, {body("then_branch", known), body("else_branch", same)},
              "known"));

  more.node(as_float("inner")).node(sum("past", "inner_f", "v")).out("v");
  less.node(node("Identity", {"past"}, {"v"})).out("v");
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past");
  loop.node(node("If", {"c"}, {"next"}, {body("then_branch", more), body("else_branch", less)},
                 "inside"));
  loop.node(as_float("shared")).node(sum("next", "shared_f", "result"));
  loop.out("go", LK_BOOL, {}).out("result");
  g.node(node("Loop", {"n", "", "k"}, {"l"}, {body("body", loop)}, "loop"));

  g.node(as_float("shared")).node(sum("l", "shared_f", "y"));
  return model(g).bytes;
}

Floats expected(const Floats &x, bool c, int64_t n) {
  Floats y;
  for (float value : x) {
    float k = (c ? value + 1 + 2 + 4 : value * 3 + 2) + 32;
    for (int64_t i = 0; i < n; i++) k += (c ? 8.0f : 0.0f) + 16;
    y.push_back(k + 16);
  }
  return y;
}

class Bodies : public Session {
protected:
  void SetUp() override {
    bytes = model_of_bodies();
    open_context();
  }
  static void check_results(lk_session *of) {
    Floats x = {-3, 0, 1, 5, 7, -8, 2, 4};
    for (uint8_t c : {0, 1}) {
      for (int64_t n : {0, 1, 3}) {
        std::vector<lk_named_tensor> outputs = {{"y", {}}};
        LK_ASSERT_OK(run_in(of, {x_of(x), named("c", {}, &c, LK_BOOL), named("n", {}, &n, LK_I64)},
                            outputs));
        EXPECT_EQ(elements(outputs[0]), expected(x, c != 0, n)) << int{c} << ' ' << n;
        level2()->outputs_release(of, outputs.data(), 1);
      }
    }
  }
  // The session, its clone, and once more after what passes have left was asked for.
  void check_without(const std::vector<const char *> &disabled) {
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    options.disabled_passes = disabled.data();
    options.n_disabled_passes = static_cast<uint32_t>(disabled.size());
    lk_session *made = nullptr, *clone = nullptr;
    LK_ASSERT_OK(
        level2()->open_memory(context, bytes.data(), bytes.size(), &options, &made, LK_ERR));
    check_results(made);
    LK_EXPECT_OK(level2()->refusals_visit(
        made, [](void *, const lk_session_refusal *) {}, nullptr, LK_ERR));
    LK_EXPECT_OK(level2()->clone(made, &clone, LK_ERR));
    level2()->close(made);
    check_results(clone);
    level2()->close(clone);
  }
};

TEST_F(Bodies, HaveTheirConstantsWhicheverPassIsSwitchedOff) {
  check_without({});
  open();
  std::vector<const char *> all;
  for (const lk_session_pass &pass : passes()) all.push_back(pass.name);
  check_without(all);
  for (const char *name : all) {
    SCOPED_TRACE(name);
    check_without({name});
    std::vector<const char *> others;
    for (const char *other : all) {
      if (other != name) others.push_back(other);
    }
    SCOPED_TRACE("alone");
    check_without(others);
  }
}

} // namespace
