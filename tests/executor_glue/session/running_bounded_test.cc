// What a run computes between two looks at what may stop it, besides its operators: iterations of
// control flow whose bodies compute little or nothing, sequences of many tensors, and run plans of
// graphs with many nodes.
#include "tests/executor_glue/session/many.h"

extern "C" {
#include "base/clock.h"
}

namespace {

using namespace lk::bounded;
using lk::small::api;
using lk::small::level2;

constexpr int TRIPS = 120000;

Message number(const char *name, int64_t value) {
  return tensor(name, LK_I64, {}, kInt64Data, varints(std::vector<int64_t>{value}));
}

// A body that carries `past` on, or what a node of the test makes of it.
Graph body_of_loop() {
  Graph g;
  return g.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past");
}
std::string looped(const Graph &loop, int64_t trips = TRIPS, bool collects = false) {
  Graph g;
  g.in("x").out("y").init(number("trips", trips));
  std::vector<std::string> outputs = {"y"};
  if (collects) outputs.emplace_back("all");
  g.node(node("Loop", {"trips", "", "x"}, outputs, {body("body", loop)}));
  if (collects) g.out("all", LK_F32, {"M", "N", "4"});
  return model(g).bytes;
}

// One element along the axis of a picture for each iteration, from the last to the first.
std::string scanned(int axis, const Graph &scan, std::initializer_list<int64_t> dims) {
  Graph g;
  Message axes = attribute("scan_input_axes", kInts).num(8, axis),
          outputs = attribute("scan_output_axes", kInts).num(8, axis),
          backward = attribute("scan_input_directions", kInts).num(8, 1);
  const std::vector<int64_t> shape(dims);
  g.in("x").out("y", LK_F32, {"A", "B"});
  g.init(tensor("shape", LK_I64, {int64_t(shape.size())}, kInt64Data, varints(shape)));
  g.node(node("Expand", {"one", "shape"}, {"picture"}));
  g.init(tensor("one", LK_F32, {1, 1}, kFloatData, raw(std::vector<float>{1})));
  g.node(node(
      "Scan", {"picture"}, {"y"},
      {body("body", scan), attribute("num_scan_inputs", kInt).num(3, 1), axes, outputs, backward}));
  return model(g).bytes;
}

// As many rows, each a tensor of a sequence.
Graph rows_of(int64_t count) {
  Graph g;
  g.in("x").out("y").init(number("one", 1));
  g.init(tensor("shape", LK_I64, {2}, kInt64Data, varints(std::vector<int64_t>{count, 4})));
  g.node(node("Gather", {"x", "zero"}, {"row"})).init(number("zero", 0));
  g.node(node("Expand", {"row", "shape"}, {"picture"}));
  return g.node(node("SplitToSequence", {"picture", "one"}, {"rows"}));
}

// Branches that all live until sums of a hundred of them are made.
Graph branches(int n) {
  Graph g;
  g.in("x").out("y");
  std::vector<std::string> sums;
  for (int i = 0; i < n; i++) g.node(node(i % 2 == 0 ? "Sin" : "Tanh", {"x"}, {at("v", i)}));
  for (int i = 0; i < n; i += 100) {
    std::vector<std::string> some;
    for (int k = i; k < i + 100; k++) some.push_back(at("v", k));
    sums.push_back(at("s", i));
    g.node(node("Sum", some, {sums.back()}));
  }
  return g.node(node("Sum", sums, {"y"}));
}

Graph nodes_in_a_row(int n) {
  return chain(n, [](Graph &g, auto from, auto to, int i) {
    g.node(node(i % 2 == 0 ? "Sin" : "Tanh", {from}, {to}));
  });
}

const Many kinds[] = {
    {"LoopOfNothing", [] { return looped(body_of_loop().out("go", LK_BOOL, {}).out("past")); }},
    {"LoopOfASum",
     [] {
       return looped(body_of_loop()
                         .node(node("Add", {"past", "past"}, {"next"}))
                         .out("go", LK_BOOL, {})
                         .out("next"));
     }},
    {"LoopThatCollects",
     [] {
       return looped(body_of_loop().out("go", LK_BOOL, {}).out("past").out("past"), TRIPS, true);
     }},
    {"LoopOfBranches",
     [] {
       Graph same, other;
       same.node(node("Identity", {"past"}, {"v"})).out("v");
       other.node(node("Neg", {"past"}, {"w"})).out("w");
       return looped(body_of_loop()
                         .node(node("If", {"go"}, {"next"},
                                    {body("then_branch", same), body("else_branch", other)}))
                         .out("go", LK_BOOL, {})
                         .out("next"));
     }},
    {"LoopOfLoopsOfNoTrips",
     [] {
       Graph inner;
       inner.in("j", LK_I64, {}).in("on", LK_BOOL, {}).in("before");
       inner.out("on", LK_BOOL, {}).out("before");
       return looped(body_of_loop()
                         .init(number("none", 0))
                         .node(node("Loop", {"none", "", "past"}, {"next"}, {body("body", inner)}))
                         .out("go", LK_BOOL, {})
                         .out("next"));
     }},
    {"LoopOfLongLoopsOfNothing",
     [] {
       Graph inner;
       inner.in("j", LK_I64, {}).in("on", LK_BOOL, {}).in("before");
       inner.out("on", LK_BOOL, {}).out("before");
       return looped(body_of_loop()
                         .init(number("many", TRIPS))
                         .node(node("Loop", {"many", "", "past"}, {"next"}, {body("body", inner)}))
                         .out("go", LK_BOOL, {})
                         .out("next"),
                     2);
     }},
    {"LoopOfSequences",
     [] {
       Graph loop = body_of_loop(), g;
       loop.node(node("SequenceInsert", {"past", "x"}, {"next"})).out("go", LK_BOOL, {});
       g.in("x").out("y", LK_I64, {}).init(number("trips", 3000));
       g.node(node("SequenceConstruct", {"x"}, {"first"}));
       g.node(node("Loop", {"trips", "", "first"}, {"last"}, {body("body", loop.out("next"))}));
       return model(g.node(node("SequenceLength", {"last"}, {"y"}))).bytes;
     }},
    {"ScanOfNothing",
     [] {
       Graph scan;
       return scanned(0, scan.in("row", LK_F32, {"B"}).out("row", LK_F32, {"B"}), {TRIPS, 1});
     }},
    {"ScanOfColumns",
     [] {
       Graph scan;
       return scanned(1, scan.in("row", LK_F32, {"A"}).out("row", LK_F32, {"A"}), {2, TRIPS});
     }},
    {"ScanOfFewLongColumns",
     [] {
       Graph scan;
       return scanned(1, scan.in("row", LK_F32, {"A"}).out("row", LK_F32, {"A"}), {4000000, 4});
     }},
    {"MapOfNothing",
     [] {
       Graph same;
       same.in("row").out("row");
       return model(rows_of(TRIPS / 3) /* two sequences are given back, which looks at nothing */
                        .node(node("SequenceMap", {"rows"}, {"mapped"}, {body("body", same)}))
                        .node(node("ConcatFromSequence", {"mapped"}, {"y"},
                                   {attribute("axis", kInt).num(3, 0)})),
                    17)
           .bytes;
     }},
    {"SequencesThatAreConcatenated",
     [] {
       Graph g = rows_of(TRIPS);
       std::vector<std::string> sums;
       for (const int axis : {0, 1, -1}) { // of each, giving the sequence back is a small part
         for (const int is_new : {0, 1}) {
           const std::string whole = at("whole", int(sums.size()));
           g.node(node(
               "ConcatFromSequence", {"rows"}, {whole},
               {attribute("axis", kInt).num(3, axis), attribute("new_axis", kInt).num(3, is_new)}));
           sums.push_back(at("sum", int(sums.size())));
           g.node(
               node("ReduceSum", {whole}, {sums.back()}, {attribute("keepdims", kInt).num(3, 0)}));
         }
       }
       return model(g.node(node("Sum", sums, {"sum"})).node(node("Add", {"x", "sum"}, {"y"})))
           .bytes;
     }},
    {"PlanOfNodesInARow", [] { return model(nodes_in_a_row(30000)).bytes; }},
    {"PlanOfBranches", [] { return model(branches(14000)).bytes; }},
    {"PlanOfOutputs",
     [] {
       Graph g = nodes_in_a_row(2);
       for (int i = 0; i < 15000; i++) g.node(node("Sin", {"x"}, {at("o", i)})).out(at("o", i));
       return model(g).bytes;
     }},
};

class RunningBounded : public BoundedBase, public ::testing::WithParamInterface<Many> {
protected:
  // All that the first run does, in a session of its own: its run plan is not there yet.
  void check_runs(const std::string &bytes, uint32_t executor) {
    lk_error error = {};
    lk::Context context = lk::open(LK_CACHE_DEFAULT, 1);
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    options.executor = executor;
    options.inter = executor == LK_EXECUTOR_PARALLEL ? 2 : 0;
    lk_session *session = nullptr;
    LK_ASSERT_OK(
        level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
    const bool runs = check(GetParam().name, [&] { return run(context, session, &error); });
    EXPECT_TRUE(runs) << error.message;
    level2()->close(session);
  }

private:
  static bool run(lk_context *context, lk_session *session, lk_error *error) {
    std::vector<float> x(4, 1);
    lk_named_tensor in = {"x", {lk::desc_of(LK_F32, {1, 4}), x.data()}};
    std::vector<lk_named_tensor> outputs;
    for (uint32_t i = 0; i < level2()->output_count(session); i++) {
      lk_value_info info = {};
      info.struct_size = sizeof info;
      LK_EXPECT_OK(level2()->output_info(session, i, &info, LK_ERR));
      outputs.push_back({info.name, {}});
    }
    LK_EXPECT_OK(api()->cache_clear(context, nullptr, LK_ERR));
    // one more flag would be seen without a call that can be counted; an hour is for ever
    const lk_run_options options =
        lk::run_options(&looks.cancel, lk_now_ns() + uint64_t{3600} * 1000000000);
    looks.begin();
    const lk_status status =
        level2()->run(session, &in, 1, outputs.data(), uint32_t(outputs.size()), &options, error);
    looks.end();
    level2()->outputs_release(session, outputs.data(), uint32_t(outputs.size()));
    return status == LK_OK || status == LK_CANCELLED;
  }
};

TEST_P(RunningBounded, LooksAgainAndAgain) {
  check_runs(GetParam().bytes(), LK_EXECUTOR_NAIVE);
}

INSTANTIATE_TEST_SUITE_P(Models, RunningBounded, ::testing::ValuesIn(kinds),
                         [](const auto &info) { return info.param.name; });

// As many as may run in parallel.
const Many parallel_kinds[] = {
    {"NodesInARow", [] { return model(nodes_in_a_row(16000)).bytes; }},
    {"Branches", [] { return model(branches(8000)).bytes; }},
};
class ParallelBounded : public RunningBounded {};

TEST_P(ParallelBounded, LooksAgainAndAgain) {
  check_runs(GetParam().bytes(), LK_EXECUTOR_PARALLEL);
}

INSTANTIATE_TEST_SUITE_P(Models, ParallelBounded, ::testing::ValuesIn(parallel_kinds),
                         [](const auto &info) { return info.param.name; });

} // namespace
