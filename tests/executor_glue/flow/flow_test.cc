// Graphs with branches, loops, and shapes that follow from data, through sessions.
#include <thread>

#include "tests/executor_glue/session/small_model.h"

extern "C" {
#include "base/clock.h"
}

using lk::small::api;
using lk::small::Floats;
using lk::small::level2;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace proto;

namespace {

Message body(const std::string &name, const Graph &graph) {
  return attribute(name, kGraph).add(6, graph.m);
}
Message ints(const std::string &name, const std::vector<int64_t> &values,
             const std::vector<int64_t> &dims = {}) {
  return tensor(name, LK_I64, dims, kInt64Data, varints(values));
}

class Flow : public lk::small::Session {
protected:
  void load(const Graph &graph) { bytes = model(graph).bytes; }
  // The first output, of inputs that have these names.
  Floats result(std::vector<lk_named_tensor> inputs, const char *output = "y") {
    std::vector<lk_named_tensor> outputs = {{output, {}}};
    LK_EXPECT_OK(run(std::move(inputs), outputs));
    dims.assign(outputs[0].tensor.desc.dims,
                outputs[0].tensor.desc.dims + outputs[0].tensor.desc.rank);
    const Floats values = outputs[0].tensor.data != nullptr ? elements(outputs[0]) : Floats();
    level2()->outputs_release(session, outputs.data(), 1);
    return values;
  }
  std::vector<int64_t> dims; // of the last result
};

// y = c ? x + h : h, with h = 2 x.
Graph choice() {
  Graph then_graph, else_graph, g;
  then_graph.node(node("Add", {"x", "h"}, {"sum"})).out("sum");
  else_graph.node(node("Identity", {"h"}, {"same"})).out("same");
  g.in("x").in("c", LK_BOOL, {}).out("y");
  g.node(node("Add", {"x", "x"}, {"h"}));
  g.node(node("If", {"c"}, {"y"},
              {body("then_branch", then_graph), body("else_branch", else_graph)}, "choice"));
  return g;
}

TEST_F(Flow, TakesOneOfTwoBranches) {
  load(choice());
  open();
  for (int round = 0; round < 2; round++) {
    for (size_t rows : {1, 3}) {
      Floats x = lk::small::numbers(rows, 1);
      uint8_t yes = 1, no = 0;
      Floats three = x, two = x;
      for (float &value : three) value *= 3;
      for (float &value : two) value *= 2;
      EXPECT_EQ(result({x_of(x), named("c", {}, &yes, LK_BOOL)}), three);
      EXPECT_EQ(result({x_of(x), named("c", {}, &no, LK_BOOL)}), two);
      EXPECT_EQ(dims, (std::vector<int64_t>{int64_t(rows), 4}));
    }
  }
  EXPECT_EQ(session_stats().runs, 8u);
}

TEST_F(Flow, WritesToTheCallersMemory) {
  load(choice());
  open();
  Floats x = lk::small::numbers(2, 1), y(8);
  uint8_t yes = 1;
  std::vector<lk_named_tensor> outputs = {named("y", {2, 4}, y.data())};
  LK_ASSERT_OK(run({x_of(x), named("c", {}, &yes, LK_BOOL)}, outputs));
  for (size_t i = 0; i < y.size(); i++) EXPECT_EQ(y[i], 3 * x[i]);
  outputs = {named("y", {1, 4}, y.data())};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run({x_of(x), named("c", {}, &yes, LK_BOOL)}, outputs));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'y'"), HasSubstr("1x4"), HasSubstr("2x4")));
  Floats larger(12, 9);
  outputs = {named("y", {3, 4}, larger.data())};
  LK_ASSERT_OK(run({x_of(x), named("c", {}, &yes, LK_BOOL)}, outputs));
  EXPECT_EQ(outputs[0].tensor.desc.dims[0], 2) << "what was made";
  for (size_t i = 0; i < 8; i++) EXPECT_EQ(larger[i], 3 * x[i]);
  for (size_t i = 8; i < 12; i++) EXPECT_EQ(larger[i], 9) << i;
}

// A run into memory of the caller's needs a list to check it; one that hands over what was made
// needs a note of that instead, and nothing else.
TEST_F(Flow, HandsOverWithoutAllocating) {
  load(choice());
  open();
  Floats x = lk::small::numbers(2, 1), y(8);
  uint8_t yes = 1;
  size_t allocations[2] = {};
  for (int round = 0; round < 2; round++) { // the first one builds
    for (const bool into_own : {false, true}) {
      std::vector<lk_named_tensor> outputs = {{"y", {}}};
      if (into_own) outputs = {named("y", {2, 4}, y.data())};
      std::vector<lk_named_tensor> inputs = {x_of(x), named("c", {}, &yes, LK_BOOL)};
      const size_t before = allocator.allocations();
      LK_ASSERT_OK(run(std::move(inputs), outputs));
      allocations[into_own] = allocator.allocations() - before;
      level2()->outputs_release(session, outputs.data(), 1);
    }
  }
  EXPECT_EQ(allocations[false], allocations[true]);
}

// A branch of one node: v of x.
Graph branch(const std::string &op_type, const std::vector<std::string> &inputs,
             const std::vector<Message> &attributes = {}) {
  Graph g;
  g.node(node(op_type, inputs, {"v"}, attributes)).out("v");
  return g;
}

// y = c ? |x| : -x and z = c ? x + x : x x, of nodes with these names.
Graph two_choices(const std::string &first, const std::string &second) {
  Graph g;
  g.in("x").in("c", LK_BOOL, {}).out("y").out("z");
  g.node(
      node("If", {"c"}, {"y"},
           {body("then_branch", branch("Abs", {"x"})), body("else_branch", branch("Neg", {"x"}))},
           first));
  g.node(node("If", {"c"}, {"z"},
              {body("then_branch", branch("Add", {"x", "x"})),
               body("else_branch", branch("Mul", {"x", "x"}))},
              second));
  return g;
}

// ONNX requires names of values to differ, and not those of nodes.
TEST_F(Flow, TellsBranchesOfEqualNamesApart) {
  Floats x = {1, -2, 3, -4};
  uint8_t yes = 1, no = 0;
  for (const auto &[first, second] : {std::pair{"n", "n"}, {"z", ""}, {"n", "n.then_branch/n"}}) {
    load(two_choices(first, second));
    open();
    for (int round = 0; round < 2; round++) {
      const std::vector<lk_named_tensor> then = {x_of(x), named("c", {}, &yes, LK_BOOL)};
      const std::vector<lk_named_tensor> other = {x_of(x), named("c", {}, &no, LK_BOOL)};
      EXPECT_EQ(result(then, "y"), (Floats{1, 2, 3, 4})) << first;
      EXPECT_EQ(result(then, "z"), (Floats{2, -4, 6, -8})) << first;
      EXPECT_EQ(result(other, "y"), (Floats{-1, 2, -3, 4})) << first;
      EXPECT_EQ(result(other, "z"), (Floats{1, 4, 9, 16})) << first;
    }
    level2()->close(session);
    session = nullptr;
  }
}

// y = F(x, c) by 2, z = F(x, c) by 10, with F = c ? max(x, 0) + by min(x, 0) : x.
TEST_F(Flow, TellsBranchesOfTwoCallsApart) {
  const auto call = [](const std::string &output, float by) {
    return node("F", {"x", "c"}, {output}, {attribute("by", kFloat).flt(2, by)}).text(7, "own");
  };
  Message function =
      Message().text(1, "F").text(4, "x").text(4, "c").text(5, "v").text(6, "by").text(10, "own");
  function.add(9, Message().num(2, 16));
  function.add(7, node("If", {"c"}, {"v"},
                       {body("then_branch", branch("LeakyRelu", {"x"},
                                                   {attribute("alpha", kFloat).text(21, "by")})),
                        body("else_branch", branch("Identity", {"x"}))}));
  Graph g;
  g.in("x").in("c", LK_BOOL, {}).out("y").out("z").node(call("y", 2)).node(call("z", 10));
  bytes = model(g).add(8, Message().text(1, "own").num(2, 1)).add(25, function).bytes;
  open();
  Floats x = {1, -2, 3, -4};
  uint8_t yes = 1;
  for (int round = 0; round < 2; round++) {
    EXPECT_EQ(result({x_of(x), named("c", {}, &yes, LK_BOOL)}, "y"), (Floats{1, -4, 3, -8}));
    EXPECT_EQ(result({x_of(x), named("c", {}, &yes, LK_BOOL)}, "z"), (Floats{1, -20, 3, -40}));
  }
}

// Each condition is what the branch before it gave; the last is of a branch within a loop, which
// captured it.
TEST_F(Flow, DecidesWhatItCanWhenItIsLoaded) {
  Graph g, yes, no, twice, same, again, other, loop;
  yes.init(tensor("t", LK_BOOL, {}, kInt32Data, varint(1))).out("t", LK_BOOL, {});
  no.init(tensor("f", LK_BOOL, {}, kInt32Data, varint(0))).out("f", LK_BOOL, {});
  twice.node(node("Add", {"x", "x"}, {"v"})).out("v");
  same.node(node("Identity", {"x"}, {"v"})).out("v");
  again.node(node("Add", {"past", "h"}, {"v"})).out("v");
  other.node(node("Identity", {"past"}, {"v"})).out("v");
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past");
  loop.node(node("If", {"b"}, {"next"}, {body("then_branch", again), body("else_branch", other)}));
  loop.out("go", LK_BOOL, {}).out("next");
  g.init(tensor("a", LK_BOOL, {}, kInt32Data, varint(0)));
  g.in("x").in("n", LK_I64, {}).out("y");
  g.node(node("If", {"a"}, {"c"}, {body("then_branch", yes), body("else_branch", no)}, "first"));
  g.node(node("Not", {"c"}, {"b"}));
  g.node(node("If", {"b"}, {"h"}, {body("then_branch", twice), body("else_branch", same)}, "next"));
  g.node(node("Loop", {"n", "", "h"}, {"y"}, {body("body", loop)}, "loop"));
  load(g);
  open();
  for (const lk_session_pass &pass : passes()) {
    if (std::string(pass.name) == "known_branches") {
      EXPECT_EQ(pass.changes, 3u);
    }
  }
  Floats x = {1, 2, 3, 4};
  int64_t n = 3;
  EXPECT_EQ(result({x_of(x), named("n", {}, &n, LK_I64)}), (Floats{8, 16, 24, 32}));
}

// As exporters write Squeeze: if the dimension is 1.
TEST_F(Flow, DecidesByDimensionsThatAreFixed) {
  Graph g, sum, same;
  sum.node(node("Add", {"x", "x"}, {"v"})).out("v");
  same.node(node("Identity", {"x"}, {"v"})).out("v");
  g.in("x").init(ints("one", {1})).init(ints("four", {4})).out("y");
  g.node(node("Shape", {"x"}, {"dims"}));
  g.node(node("Gather", {"dims", "one"}, {"width"}));
  g.node(node("Equal", {"width", "four"}, {"is_four"}));
  g.node(node("If", {"is_four"}, {"y"}, {body("then_branch", sum), body("else_branch", same)}));
  load(g);
  open();
  for (const lk_session_pass &pass : passes()) {
    if (std::string(pass.name) == "known_branches") {
      EXPECT_EQ(pass.changes, 1u);
    }
  }
  Floats x = {1, 2, 3, 4};
  EXPECT_EQ(result({x_of(x)}), (Floats{2, 4, 6, 8}));
}

// a is what the loop carries, and b all that it was; n iterations, or until the counter k is 0.
Graph doubling() {
  Graph loop, g;
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past").in("k", LK_I64, {});
  loop.init(ints("one", {1}));
  loop.node(node("Add", {"past", "past"}, {"next"}));
  loop.node(node("Sub", {"k", "one"}, {"less"}));
  loop.node(node("Cast", {"less"}, {"on"}, {attribute("to", kInt).num(3, LK_BOOL)}));
  loop.node(node("Add", {"next", "x"}, {"seen"}));
  loop.out("on", LK_BOOL, {}).out("next").out("less", LK_I64, {}).out("seen", LK_F32, {"N", "4"});
  g.in("x").in("n", LK_I64, {}).in("count", LK_I64, {}).out("a").out("b", LK_F32, {"I", "N", "4"});
  g.node(node("Loop", {"n", "", "x", "count"}, {"a", "", "b"}, {body("body", loop)}, "loop"));
  return g;
}

TEST_F(Flow, RepeatsALoop) {
  load(doubling());
  open();
  Floats x = lk::small::numbers(2, 1);
  struct Case {
    int64_t n, count, iterations;
  };
  for (const Case &c : {Case{5, 100, 5}, {1, 100, 1}, {100, 3, 3}, {0, 7, 0}}) {
    int64_t n = c.n, count = c.count;
    const std::vector<lk_named_tensor> inputs = {x_of(x), named("n", {}, &n, LK_I64),
                                                 named("count", {}, &count, LK_I64)};
    Floats a = x, b;
    for (int64_t i = 0; i < c.iterations; i++) {
      for (float &value : a) value *= 2;
      for (size_t k = 0; k < x.size(); k++) b.push_back(a[k] + x[k]);
    }
    EXPECT_EQ(result(inputs, "a"), a);
    EXPECT_EQ(result(inputs, "b"), b);
    EXPECT_EQ(dims, (c.iterations > 0 ? std::vector<int64_t>{c.iterations, 2, 4}
                                      : std::vector<int64_t>{0, 0, 4}));
  }
}

// What a decoder's cache does: it grows with each iteration.
TEST_F(Flow, CarriesWhatGrows) {
  Graph loop, g;
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past");
  loop.node(node("Concat", {"past", "x"}, {"next"}, {attribute("axis", kInt).num(3, 0)}));
  loop.out("go", LK_BOOL, {}).out("next");
  g.in("x").in("n", LK_I64, {}).out("y");
  g.node(node("Loop", {"n", "", "x"}, {"y"}, {body("body", loop)}, "loop"));
  load(g);
  open();
  Floats x = {1, 2, 3, 4};
  for (int64_t n : {3, 0, 6}) {
    Floats expected;
    for (int64_t i = 0; i <= n; i++) expected.insert(expected.end(), x.begin(), x.end());
    EXPECT_EQ(result({x_of(x), named("n", {}, &n, LK_I64)}), expected);
    EXPECT_EQ(dims, (std::vector<int64_t>{n + 1, 4}));
  }
}

// past = past + x, and once more where more is true; in an inner loop twice, if `nested`.
Graph repeated(bool nested) {
  Graph loop, more, less, inner, g;
  more.node(node("Add", {"sum", "x"}, {"m"})).out("m");
  less.node(node("Identity", {"sum"}, {"l"})).out("l");
  inner.in("j", LK_I64, {}).in("inner_go", LK_BOOL, {}).in("before");
  inner.node(node("Add", {"before", "x"}, {"behind"})).out("inner_go", LK_BOOL, {}).out("behind");
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past").init(ints("two", {2}));
  if (nested) {
    loop.node(node("Loop", {"two", "", "past"}, {"sum"}, {body("body", inner)}, "inner"));
  } else {
    loop.node(node("Add", {"past", "x"}, {"sum"}));
  }
  loop.node(node("If", {"more"}, {"next"}, {body("then_branch", more), body("else_branch", less)},
                 "choice"));
  loop.out("go", LK_BOOL, {}).out("next");
  g.in("x").in("n", LK_I64, {}).in("more", LK_BOOL, {}).out("y");
  g.node(node("Loop", {"n", "", "x"}, {"y"}, {body("body", loop)}, "outer"));
  return g;
}

// Iterations after the first ones look nothing up and allocate nothing; an inner loop has its lists
// for each of its runs.
TEST_F(Flow, RepeatsWithWhatTheFirstIterationsLeft) {
  for (bool nested : {false, true}) {
    for (uint8_t more : {uint8_t{0}, uint8_t{1}}) {
      load(repeated(nested));
      open();
      Floats x = {1, 2, 3, 4};
      size_t allocations[3] = {};
      uint64_t hits[3] = {};
      const int64_t counts[3] = {10, 10, 110};
      for (int round = 0; round < 3; round++) {
        int64_t n = counts[round];
        const size_t allocations_before = allocator.allocations();
        const uint64_t hits_before = stats().kind[LK_KIND_RUN].hits;
        const Floats y =
            result({x_of(x), named("n", {}, &n, LK_I64), named("more", {}, &more, LK_BOOL)});
        allocations[round] = allocator.allocations() - allocations_before;
        hits[round] = stats().kind[LK_KIND_RUN].hits - hits_before;
        const float sums = float(1 + n * (1 + int(nested) + more));
        EXPECT_EQ(y, (Floats{sums, 2 * sums, 3 * sums, 4 * sums}));
      }
      const size_t lists = nested ? (allocations[2] - allocations[1]) / 100 : 0;
      EXPECT_LE(lists, 8u);
      EXPECT_EQ(allocations[2], allocations[1] + 100 * lists);
      EXPECT_EQ(hits[2], hits[1]);
      EXPECT_GT(session_stats().run_plan_hits, 100u);
      level2()->close(session);
      session = nullptr;
    }
  }
}

// What a loop leaves in a sequence, in its order or in reverse; as one tensor, and its length.
Graph collected() {
  Graph loop, front, back, g;
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past");
  loop.m.add(11, Message().text(1, "rows")); // without a type
  front.init(ints("zero", {0})).node(node("SequenceInsert", {"rows", "now", "zero"}, {"f"}));
  front.out("f");
  back.node(node("SequenceInsert", {"rows", "now"}, {"b"})).out("b");
  loop.node(node("Add", {"past", "x"}, {"now"}));
  loop.node(node("If", {"c"}, {"more"}, {body("then_branch", front), body("else_branch", back)}));
  loop.out("go", LK_BOOL, {}).out("now").out("more");
  g.in("x").in("n", LK_I64, {}).in("c", LK_BOOL, {}).out("y").out("length", LK_I64, {});
  g.node(node("SequenceEmpty", {}, {"none"}));
  g.node(node("SequenceInsert", {"none", "x"}, {"first"}));
  g.node(node("Loop", {"n", "", "x", "first"}, {"last", "all"}, {body("body", loop)}, "loop"));
  g.node(node("ConcatFromSequence", {"all"}, {"y"}, {attribute("axis", kInt).num(3, 0)}, "concat"));
  g.node(node("SequenceLength", {"all"}, {"length"}));
  return g;
}

TEST_F(Flow, CarriesSequences) {
  load(collected());
  open();
  Floats x = {1, 2, 3, 4};
  for (int64_t n : {0, 1, 5}) {
    for (uint8_t reverse : {uint8_t{0}, uint8_t{1}}) {
      Floats all;
      for (int64_t row = 0; row <= n; row++) {
        const int64_t times = reverse != 0 ? n - row + 1 : row + 1;
        for (float value : x) all.push_back(value * float(times));
      }
      const std::vector<lk_named_tensor> inputs = {x_of(x), named("n", {}, &n, LK_I64),
                                                   named("c", {}, &reverse, LK_BOOL)};
      EXPECT_EQ(result(inputs), all);
      EXPECT_EQ(dims, (std::vector<int64_t>{n + 1, 4}));
    }
  }
}

// y of a graph of these nodes, whose input is x.
std::string of_nodes(const std::vector<Message> &nodes,
                     const std::vector<Message> &constants = {}) {
  Graph g;
  g.in("x").out("y");
  for (const Message &constant : constants) g.init(constant);
  for (const Message &one : nodes) g.node(one);
  return model(g).bytes;
}

TEST_F(Flow, RefusesWhatSequencesDoNotHave) {
  const Message of_two = node("SequenceConstruct", {"x", "x"}, {"s"});
  const Message i64 = node("Cast", {"x"}, {"k"}, {attribute("to", kInt).num(3, LK_I64)});
  struct Case {
    std::vector<Message> nodes;
    const char *text;
  };
  const std::vector<Message> constants = {ints("two", {2}), ints("low", {-3}), ints("zero", {0}),
                                          ints("sizes", {1, 5}, {2})};
  for (const Case &c : std::vector<Case>{
           {{of_two, node("SequenceAt", {"s", "two"}, {"y"})}, "position 2"},
           {{of_two, node("SequenceAt", {"s", "low"}, {"y"})}, "position -3"},
           {{of_two, i64, node("SequenceInsert", {"s", "k"}, {"t"}),
             node("SequenceAt", {"t", "zero"}, {"y"})},
            "of type i64 and another of f32"},
           {{node("SequenceEmpty", {}, {"s"}), node("SequenceErase", {"s"}, {"t"}),
             node("SequenceAt", {"t", "zero"}, {"y"})},
            "position -1"},
           {{node("SequenceEmpty", {}, {"s"}),
             node("ConcatFromSequence", {"s"}, {"y"}, {attribute("axis", kInt).num(3, 0)})},
            "it is empty"},
           {{node("SequenceConstruct", {"x", "two"}, {"s"}),
             node("SequenceAt", {"s", "two"}, {"y"})},
            "type i64"},
           {{node("SplitToSequence", {"x", "sizes"}, {"s"}),
             node("SequenceAt", {"s", "zero"}, {"y"})},
            "add up to that of the axis, 1"},
           {{node("SplitToSequence", {"x", "low"}, {"s"}),
             node("SequenceAt", {"s", "zero"}, {"y"})},
            "a piece would have the size -3"},
           {{node("SequenceAt", {"x", "zero"}, {"y"})}, "a tensor, not a sequence"},
           {{node("Optional", {}, {"o"}), node("OptionalGetElement", {"o"}, {"y"})}, "absent"}}) {
    bytes = of_nodes(c.nodes, constants);
    open();
    Floats x = {1, 2, 3, 4};
    std::vector<lk_named_tensor> outputs = {{"y", {}}};
    EXPECT_NE(run({x_of(x)}, outputs), LK_OK);
    EXPECT_THAT(LK_MESSAGE, HasSubstr(c.text));
    level2()->close(session);
    session = nullptr;
  }
  bytes = of_nodes({of_two, node("Relu", {"s"}, {"y"})});
  const lk_session_options options = LK_SESSION_OPTIONS_INIT;
  LK_EXPECT_STATUS(LK_MALFORMED, level2()->open_memory(context, bytes.data(), bytes.size(),
                                                       &options, &session, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("input 0 ('s') is a sequence, a tensor is required"));
  bytes = of_nodes({node("SequenceConstruct", {"x"}, {"y"})});
  LK_EXPECT_STATUS(LK_UNSUPPORTED, level2()->open_memory(context, bytes.data(), bytes.size(),
                                                         &options, &session, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'y', which SequenceConstruct makes: it is a sequence"));
}

// Each iteration has a run plan of its own: it is kept until the counter changes.
TEST_F(Flow, TakesWhatTheCounterSays) {
  Graph loop, g;
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past").init(ints("one", {1}, {1}));
  loop.init(ints("zero", {0}, {1}));
  loop.node(node("Unsqueeze", {"i", "zero"}, {"from"}));
  loop.node(node("Add", {"from", "one"}, {"to"}));
  loop.node(node("Slice", {"x", "from", "to", "zero"}, {"row"}));
  loop.node(node("Add", {"past", "row"}, {"next"}));
  loop.out("go", LK_BOOL, {}).out("next").out("row", LK_F32, {"1", "4"});
  g.in("x").in("n", LK_I64, {}).in("start", LK_F32, {"1", "4"}).out("y");
  g.out("rows", LK_F32, {"N", "1", "4"});
  g.node(node("Loop", {"n", "", "start"}, {"y", "rows"}, {body("body", loop)}, "loop"));
  load(g);
  open();
  Floats x = lk::small::numbers(7, 1), start = {1, 2, 3, 4};
  for (int64_t n : {7, 3, 1}) {
    Floats sum = start;
    for (int64_t i = 0; i < 4 * n; i++) sum[size_t(i % 4)] += x[size_t(i)];
    const std::vector<lk_named_tensor> inputs = {x_of(x), named("n", {}, &n, LK_I64),
                                                 named("start", {1, 4}, start.data())};
    EXPECT_EQ(result(inputs), sum);
    EXPECT_EQ(result(inputs, "rows"), Floats(x.begin(), x.begin() + 4 * n));
  }
}

// y[t] = y[t - 1] + x[t], backward if asked for; and a branch within the body.
Graph running_sum(bool backward) {
  Graph scan, then_graph, else_graph, g;
  then_graph.node(node("Add", {"total", "row"}, {"t"})).out("t", LK_F32, {"4"});
  else_graph.node(node("Identity", {"total"}, {"e"})).out("e", LK_F32, {"4"});
  scan.in("total", LK_F32, {"4"}).in("row", LK_F32, {"4"});
  scan.node(node("If", {"c"}, {"sum"},
                 {body("then_branch", then_graph), body("else_branch", else_graph)}, "inner"));
  scan.node(node("Identity", {"sum"}, {"copy"}));
  scan.out("sum", LK_F32, {"4"}).out("copy", LK_F32, {"4"});
  g.in("x").in("c", LK_BOOL, {}).out("last", LK_F32, {"4"}).out("y");
  g.init(tensor("zero", LK_F32, {4}, kFloatData, raw(Floats(4))));
  std::vector<Message> attributes = {body("body", scan),
                                     attribute("num_scan_inputs", kInt).num(3, 1)};
  if (backward) {
    attributes.push_back(attribute("scan_input_directions", kInts).num(8, 1));
    attributes.push_back(attribute("scan_output_directions", kInts).num(8, 1));
  }
  g.node(node("Scan", {"zero", "x"}, {"last", "y"}, attributes, "scan"));
  return g;
}

TEST_F(Flow, ScansRows) {
  for (const bool backward : {false, true}) {
    SCOPED_TRACE(backward);
    load(running_sum(backward));
    open();
    Floats x = lk::small::numbers(3, 1), expected(12);
    Floats total(4);
    for (int t = 0; t < 3; t++) {
      const size_t row = size_t(backward ? 2 - t : t) * 4;
      for (size_t i = 0; i < 4; i++) expected[row + i] = total[i] += x[row + i];
    }
    uint8_t yes = 1, no = 0;
    EXPECT_EQ(result({x_of(x), named("c", {}, &yes, LK_BOOL)}), expected);
    EXPECT_EQ(result({x_of(x), named("c", {}, &yes, LK_BOOL)}, "last"), total);
    EXPECT_EQ(result({x_of(x), named("c", {}, &no, LK_BOOL)}), Floats(12));
    level2()->close(session);
    session = nullptr;
  }
}

// A shape that is the mean of a picture's elements.
Graph shape_of_data() {
  Graph g;
  g.in("x").out("y", LK_F32, {"M"});
  g.node(node("ReduceMean", {"x"}, {"mean"}, {attribute("keepdims", kInt).num(3, 0)}));
  g.node(node("Cast", {"mean"}, {"size"}, {attribute("to", kInt).num(3, LK_I64)}));
  g.init(ints("list", {1}, {1}));
  g.init(ints("axes", {0}, {1}));
  g.node(node("Unsqueeze", {"size", "axes"}, {"shape"}));
  g.node(node("ConstantOfShape", {"shape"}, {"zeros"}));
  g.node(node("Add", {"zeros", "mean"}, {"y"}));
  return g;
}

TEST_F(Flow, TakesShapesFromData) {
  load(shape_of_data());
  open();
  for (const float mean : {3.0F, 5.0F, 3.0F}) {
    Floats x(1000, mean);
    EXPECT_EQ(result({x_of(x)}), Floats(size_t(mean), mean));
  }
  // the shape is in the key, and not the elements that it follows from
  EXPECT_EQ(session_stats().run_plan_builds, 3u);
}

TEST_F(Flow, RunsOnlyWhatIsWanted) {
  Graph g = doubling();
  g.out("c", LK_F32, {"M"});
  g.init(ints("axes", {0}, {1}));
  g.node(node("ReduceMean", {"x"}, {"mean"}, {attribute("keepdims", kInt).num(3, 0)}));
  g.node(node("Cast", {"mean"}, {"size"}, {attribute("to", kInt).num(3, LK_I64)}));
  g.node(node("Unsqueeze", {"size", "axes"}, {"shape"}));
  g.node(node("ConstantOfShape", {"shape"}, {"c"}));
  load(g);
  open();
  Floats x(8, -1.0F); // a shape of -1 would fail
  int64_t n = 1, count = 9;
  const std::vector<lk_named_tensor> inputs = {x_of(x), named("n", {}, &n, LK_I64),
                                               named("count", {}, &count, LK_I64)};
  EXPECT_EQ(result(inputs, "a"), Floats(8, -2.0F));
  std::vector<lk_named_tensor> outputs = {{"c", {}}};
  EXPECT_NE(run(inputs, outputs), LK_OK);
}

TEST_F(Flow, SaysWhatIsWrong) {
  load(choice());
  open();
  Floats x = lk::small::numbers(1, 1);
  std::vector<lk_named_tensor> outputs = {{"y", {}}};
  uint8_t two[2] = {1, 0};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run({x_of(x), named("c", {2}, two, LK_BOOL)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'c'"));
  level2()->close(session);
  session = nullptr;

  Graph g = doubling(), loop;
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).out("go", LK_BOOL, {});
  Graph bad;
  bad.in("x").in("n", LK_I64, {}).out("y");
  bad.node(node("Loop", {"n", "", "x"}, {"y"}, {body("body", loop)}, "wrong"));
  load(bad);
  const lk_session_options options = LK_SESSION_OPTIONS_INIT;
  LK_EXPECT_STATUS(LK_MALFORMED, level2()->open_memory(context, bytes.data(), bytes.size(),
                                                       &options, &session, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("wrong"), HasSubstr("Loop"), HasSubstr("2 inputs")));
}

// What a file may say of control flow, and must not.
TEST_F(Flow, RefusesNodesThatDoNotFitTheirBodies) {
  Graph same, step;
  same.node(node("Identity", {"x"}, {"v"})).out("v");
  step.in("total", LK_F32, {"4"}).in("row", LK_F32, {"4"});
  step.out("total", LK_F32, {"4"}).out("row", LK_F32, {"4"});
  const Message then_body = body("then_branch", same), scan_body = body("body", step);
  const auto scan = [&](int64_t n, const char *axes) {
    return node("Scan", {"zero", "x"}, {"last", "y"},
                {scan_body, attribute("num_scan_inputs", kInt).num(3, n),
                 attribute(axes, kInts).num(8, 0).num(8, 0)},
                "wrong");
  };
  const std::pair<Message, const char *> cases[] = {
      {node("If", {"c"}, {"y"}, {then_body}, "wrong"),
       "attribute 'else_branch' is missing, it is required"},
      {node("Loop", {"n"}, {"y"}, {body("body", same)}, "wrong"), "do not make a loop"},
      {scan(0, "scan_input_axes"), "'num_scan_inputs' is 0"},
      {scan(3, "scan_input_axes"), "'num_scan_inputs' is 3"},
      {scan(1, "scan_input_axes"),
       "'scan_input_axes' and 'scan_input_directions' has another number of values, both must "
       "have 1"},
      {scan(1, "scan_output_axes"),
       "'scan_output_axes' and 'scan_output_directions' has another number of values, both must "
       "have 1"},
  };
  for (const auto &[wrong, says] : cases) {
    SCOPED_TRACE(says);
    Graph g;
    g.in("x").in("c", LK_BOOL, {}).in("n", LK_I64, {}).out("y");
    g.init(tensor("zero", LK_F32, {4}, kFloatData, raw(Floats(4))));
    g.node(wrong);
    load(g);
    if (context == nullptr) open_context();
    LK_EXPECT_STATUS(LK_MALFORMED, level2()->open_memory(context, bytes.data(), bytes.size(),
                                                         nullptr, &session, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("wrong"), HasSubstr(says)));
    EXPECT_EQ(session, nullptr);
  }
}

TEST_F(Flow, RefusesScanWithABatch) {
  Graph step, g;
  step.in("total", LK_F32, {"4"}).in("row", LK_F32, {"4"});
  step.out("total", LK_F32, {"4"}).out("row", LK_F32, {"4"});
  g.in("start").in("x", LK_F32, {"N", "M", "4"}).out("last").out("y", LK_F32, {"N", "M", "4"});
  g.node(node("Scan", {"", "start", "x"}, {"last", "y"},
              {body("body", step), attribute("num_scan_inputs", kInt).num(3, 1),
               attribute("directions", kInts).num(8, 0)},
              "old"));
  bytes = model(g, 8).bytes;
  if (context == nullptr) open_context();
  LK_EXPECT_STATUS(LK_UNSUPPORTED, level2()->open_memory(context, bytes.data(), bytes.size(),
                                                         nullptr, &session, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("old"), HasSubstr("before opset 9 Scan has a batch"),
                                HasSubstr("onnx.version_converter")));
}

// A file may declare any type; what decides is looked at when it is there.
TEST_F(Flow, DecidesByOneBoolAndCountsByOneInteger) {
  Graph same, other, loop, g;
  same.node(node("Identity", {"x"}, {"v"})).out("v");
  other.node(node("Add", {"x", "x"}, {"v"})).out("v");
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past");
  loop.node(node("Identity", {"past"}, {"next"})).out("go", LK_BOOL, {}).out("next");
  g.in("x").in("c", LK_BOOL, {"C"}).in("n", LK_I64, {"T"}).out("y").out("z");
  g.node(node("If", {"c"}, {"y"}, {body("then_branch", same), body("else_branch", other)}));
  g.node(node("Loop", {"n", "", "x"}, {"z"}, {body("body", loop)}));
  load(g);
  open();
  Floats x = lk::small::numbers(1, 1);
  uint8_t bools[2] = {1, 0};
  int64_t counts[2] = {1, 2};
  const auto run_with = [&](int64_t n_bools, int64_t n_counts, const char *output) {
    std::vector<lk_named_tensor> outputs = {{output, {}}};
    const lk_status status = run(
        {x_of(x), named("c", {n_bools}, bools, LK_BOOL), named("n", {n_counts}, counts, LK_I64)},
        outputs);
    level2()->outputs_release(session, outputs.data(), 1);
    return status;
  };
  LK_EXPECT_OK(run_with(1, 2, "y"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run_with(2, 1, "y"));
  EXPECT_THAT(LK_MESSAGE,
              AllOf(HasSubstr("the condition: it is 2:bool"), HasSubstr("must be one bool")));
  LK_EXPECT_OK(run_with(2, 1, "z"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run_with(1, 2, "z"));
  EXPECT_THAT(LK_MESSAGE,
              AllOf(HasSubstr("the trip count: it is 2:i64"), HasSubstr("must be one i64")));
}

// Each iteration leaves more than the one before.
TEST_F(Flow, RefusesScanOutputsThatAreNotAlike) {
  Graph loop, g;
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past");
  loop.node(node("Concat", {"past", "x"}, {"next"}, {attribute("axis", kInt).num(3, 0)}));
  loop.out("go", LK_BOOL, {}).out("next").out("next");
  g.in("x").in("n", LK_I64, {}).out("y").out("all");
  g.node(node("Loop", {"n", "", "x"}, {"y", "all"}, {body("body", loop)}, "loop"));
  load(g);
  open();
  Floats x = {1, 2, 3, 4};
  int64_t n = 2;
  std::vector<lk_named_tensor> outputs = {{"all", {}}};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run({x_of(x), named("n", {}, &n, LK_I64)}, outputs));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'loop'"), HasSubstr("3x4"), HasSubstr("2x4")));
}

TEST_F(Flow, EndsAtADeadline) {
  Graph loop, g;
  loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past");
  loop.node(node("Add", {"past", "past"}, {"next"}));
  loop.out("go", LK_BOOL, {}).out("next");
  g.in("x").out("y");
  g.node(node("Loop", {"", "", "x"}, {"y"}, {body("body", loop)}, "endless"));
  load(g);
  open();
  Floats x = {1, 2, 3, 4};
  std::vector<lk_named_tensor> inputs = {x_of(x)}, outputs = {{"y", {}}};
  lk_run_options options = {};
  options.struct_size = sizeof options;
  options.deadline_ns = lk_now_ns() + 50 * 1000 * 1000;
  LK_EXPECT_STATUS(LK_DEADLINE,
                   level2()->run(session, inputs.data(), 1, outputs.data(), 1, &options, LK_ERR));
}

// Nothing in such a body runs an operator of the table, which would look by itself.
TEST_F(Flow, EndsAtADeadlineInALoopOfSequences) {
  for (const bool has_branches : {false, true}) {
    SCOPED_TRACE(has_branches);
    Graph one, other, loop, g;
    one.node(node("SequenceConstruct", {"x"}, {"a"})).out("a");
    other.node(node("SequenceConstruct", {"x", "x"}, {"b"})).out("b");
    loop.in("i", LK_I64, {}).in("go", LK_BOOL, {}).in("past");
    loop.node(has_branches
                  ? node("If", {"go"}, {"next"},
                         {body("then_branch", one), body("else_branch", other)}, "branches")
                  : node("SequenceConstruct", {"x"}, {"next"}));
    loop.out("go", LK_BOOL, {}).out("next");
    g.in("x").out("y", LK_I64, {});
    g.node(node("SequenceConstruct", {"x"}, {"first"}));
    g.node(node("Loop", {"", "", "first"}, {"last"}, {body("body", loop)}, "endless"));
    g.node(node("SequenceLength", {"last"}, {"y"}));
    load(g);
    open();
    Floats x = {1, 2, 3, 4};
    std::vector<lk_named_tensor> inputs = {x_of(x)}, outputs = {{"y", {}}};
    const lk_run_options options = lk::run_options(nullptr, lk_now_ns() + 50 * 1000 * 1000);
    LK_EXPECT_STATUS(LK_DEADLINE,
                     level2()->run(session, inputs.data(), 1, outputs.data(), 1, &options, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("endless"), HasSubstr("the deadline passed")));
    level2()->close(session);
    session = nullptr;
  }
}

// As of graphs that need no stages: operators run first here, and copies are made in the end.
TEST_F(Flow, WritesToNoMemoryOfInputsOrOtherOutputs) {
  Graph g;
  g.in("x").out("y").out("z").out("n", LK_I64, {"2", "M"});
  g.node(node("NonZero", {"x"}, {"n"}));
  g.node(node("Add", {"x", "x"}, {"y"})).node(node("Neg", {"x"}, {"z"}));
  load(g);
  open();
  Floats x = {1, 2, 3, 4}, room(6, 9);
  std::vector<lk_named_tensor> inputs = {x_of(x)};
  const auto refused = [&](std::vector<lk_named_tensor> outputs, const char *what) {
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run(inputs, outputs));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(what));
    EXPECT_EQ(x, (Floats{1, 2, 3, 4}));
    EXPECT_EQ(room, Floats(6, 9)) << "nothing is written";
  };
  refused({named("y", {1, 4}, x.data())}, "overlaps input 'x'");
  refused({named("y", {1, 4}, room.data()), named("z", {1, 4}, room.data() + 2)},
          "overlaps output 'y'");
  refused({named("y", {1, 4}, room.data()), named("z", {1, 3}, x.data() + 8)}, "'z'");
  std::vector<lk_named_tensor> outputs = {named("y", {1, 4}, room.data())};
  LK_ASSERT_OK(run(inputs, outputs));
  EXPECT_EQ(room, (Floats{2, 4, 6, 8, 9, 9}));
}

// Boxes that all are chosen: each is compared with all before it.
TEST_F(Flow, EndsAtADeadlineWithinAnOperatorWhoseShapeFollowsFromData) {
  constexpr int64_t kBoxes = 200000; // minutes
  Graph g;
  g.in("boxes", LK_F32, {"1", "N", "4"}).in("x", LK_F32, {"1", "1", "N"});
  g.out("y", LK_I64, {"M", "3"});
  g.init(ints("most", {kBoxes}, {1}));
  const Floats overlap = {2};
  g.init(tensor("overlap", LK_F32, {1}, kRawData, raw(overlap)));
  g.node(node("NonMaxSuppression", {"boxes", "x", "most", "overlap"}, {"y"}));
  load(g);
  open();
  Floats boxes(4 * kBoxes), scores(kBoxes, 0.5F);
  for (size_t i = 0; i < boxes.size(); i++) boxes[i] = float(i % 4 / 2);
  std::vector<lk_named_tensor> inputs = {named("boxes", {1, kBoxes, 4}, boxes.data(), LK_F32),
                                         named("x", {1, 1, kBoxes}, scores.data(), LK_F32)};
  std::vector<lk_named_tensor> outputs = {{"y", {}}};
  // On a busy machine a short time may have passed before the operator begins.
  for (uint64_t ms = 50; LK_MESSAGE.find("while it computed") == std::string::npos; ms *= 2) {
    lk_run_options options = lk::run_options(nullptr, lk_now_ns() + ms * 1000 * 1000);
    LK_ASSERT_STATUS(LK_DEADLINE, level2()->run(session, inputs.data(), uint32_t(inputs.size()),
                                                outputs.data(), 1, &options, LK_ERR));
    EXPECT_EQ(outputs[0].tensor.data, nullptr);
  }
  // The next run has the same frame, and no deadline.
  inputs[0] = named("boxes", {1, 2, 4}, boxes.data(), LK_F32);
  inputs[1] = named("x", {1, 1, 2}, scores.data(), LK_F32);
  LK_EXPECT_OK(run(inputs, outputs));
  level2()->outputs_release(session, outputs.data(), 1);
}

TEST_F(Flow, RunsOnManyThreads) {
  load(doubling());
  open();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; round++) {
        Floats x = lk::small::numbers(size_t(1 + t), float(t));
        int64_t n = round % 4, count = 100;
        std::vector<lk_named_tensor> inputs = {x_of(x), named("n", {}, &n, LK_I64),
                                               named("count", {}, &count, LK_I64)};
        std::vector<lk_named_tensor> outputs = {{"a", {}}};
        if (level2()->run(session, inputs.data(), 3, outputs.data(), 1, nullptr, nullptr) !=
            LK_OK) {
          wrong++;
          continue;
        }
        Floats a = x;
        for (float &value : a) value *= float(1 << n);
        wrong += elements(outputs[0]) != a;
        level2()->outputs_release(session, outputs.data(), 1);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// What can do without the memory goes on; all else says so, and leaves nothing behind.
TEST(FlowFaults, EveryAllocationMayFail) {
  for (const Graph &graph :
       {choice(), doubling(), running_sum(true), shape_of_data(), repeated(true), collected()}) {
    const std::string bytes = model(graph).bytes;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
      ASSERT_LT(n, 100000u);
      lk::FailingAllocator allocator;
      allocator.fail_at(n);
      lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
      options.allocator = *allocator.get();
      options.threads = 1;
      lk_context *context = nullptr;
      lk_session *session = nullptr;
      lk_status status = api()->context_create(&options, &context, LK_ERR);
      const lk_session_options how = LK_SESSION_OPTIONS_INIT;
      if (status == LK_OK) {
        status = level2()->open_memory(context, bytes.data(), bytes.size(), &how, &session, LK_ERR);
      }
      for (int round = 0; status == LK_OK && round < 2; round++) {
        Floats x(8, 2.0F);
        uint8_t yes = 1;
        int64_t n = 3, count = 100;
        std::vector<lk_named_tensor> inputs, outputs;
        for (uint32_t i = 0; i < level2()->input_count(session); i++) {
          lk_value_info info = {};
          info.struct_size = sizeof info;
          LK_EXPECT_OK(level2()->input_info(session, i, &info, LK_ERR));
          const std::string name = info.name;
          lk_named_tensor input = {info.name, {{info.dtype, 0, LK_LAYOUT_PLAIN, 0, {}}, nullptr}};
          if (name == "x") input.tensor.desc.rank = 2;
          input.tensor.desc.dims[0] = name == "x" ? 2 : 0;
          input.tensor.desc.dims[1] = name == "x" ? 4 : 0;
          input.tensor.data = name == "x"             ? static_cast<void *>(x.data())
                              : info.dtype == LK_BOOL ? static_cast<void *>(&yes)
                              : name == "n"           ? static_cast<void *>(&n)
                                                      : static_cast<void *>(&count);
          inputs.push_back(input);
        }
        for (uint32_t i = 0; i < level2()->output_count(session); i++) {
          lk_value_info info = {};
          info.struct_size = sizeof info;
          LK_EXPECT_OK(level2()->output_info(session, i, &info, LK_ERR));
          outputs.push_back({info.name, {}});
        }
        status = level2()->run(session, inputs.data(), uint32_t(inputs.size()), outputs.data(),
                               uint32_t(outputs.size()), nullptr, LK_ERR);
        if (status == LK_OK) {
          level2()->outputs_release(session, outputs.data(), uint32_t(outputs.size()));
        }
      }
      level2()->close(session);
      api()->context_destroy(context);
      failed = allocator.failed();
      ASSERT_TRUE(status == LK_OK || (failed && status == LK_OUT_OF_MEMORY)) << n << LK_MESSAGE;
      ASSERT_EQ(allocator.live_blocks(), 0u) << "leak when allocation " << n << " fails";
    }
  }
}

} // namespace
