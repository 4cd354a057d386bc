// What opening a model computes between two looks at what may stop it: models of many small things,
// of each kind that a file may have many of. No part of it may take long without a look: not
// reading the file, not linking the graph, no pass, not making operators and their plans. Nor may
// it take long to give back what was read, whenever opening ends.
#include "tests/executor_glue/session/many.h"

namespace {

using namespace lk::bounded;
using lk::small::api;
using lk::small::level2;

const Many kinds[] = {
    {"Activations",
     [] {
       return model(chain(50000,
                          [](Graph &g, auto from, auto to, int i) {
                            g.node(node(i % 2 == 0 ? "Relu" : "Tanh", {from}, {to}));
                          }))
           .bytes;
     }},
    {"SumsWithConstants",
     [] {
       return model(chain(20000,
                          [](Graph &g, auto from, auto to, int i) {
                            g.init(floats(at("c", i), float(i)));
                            g.node(node(i % 2 == 0 ? "Add" : "Mul", {from, at("c", i)}, {to}));
                          }))
           .bytes;
     }},
    {"Products",
     [] {
       const auto weights = raw(std::vector<float>(16, 0.5F));
       return model(chain(30000,
                          [&](Graph &g, auto from, auto to, int i) {
                            if (i % 2 != 0) {
                              g.node(node("Sigmoid", {from}, {to}));
                              return;
                            }
                            g.init(tensor(at("w", i), LK_F32, {4, 4}, kRawData, weights));
                            g.node(node("MatMul", {from, at("w", i)}, {to}));
                          }))
           .bytes;
     }},
    {"Identities",
     [] {
       return model(chain(20000, [](Graph &g, auto from, auto to,
                                    int) { g.node(node("Identity", {from}, {to})); }))
           .bytes;
     }},
    {"ConstantsThatAreComputed",
     [] {
       Graph g;
       g.in("x").out("y").init(floats("c"));
       std::string last = "c";
       for (int i = 0; i < 20000; i++) {
         g.node(node("Neg", {last}, {at("v", i)}));
         last = at("v", i);
       }
       return model(g.node(node("Add", {"x", last}, {"y"}))).bytes;
     }},
    {"ConstantNodes",
     [] {
       return model(chain(12000,
                          [](Graph &g, auto from, auto to, int i) {
                            g.node(node("Constant", {}, {at("c", i)},
                                        {attribute("value_float", kFloat).flt(2, float(i))}));
                            g.node(node("Add", {from, at("c", i)}, {to}));
                          }))
           .bytes;
     }},
    {"ShapesThatAreComputed",
     [] {
       return model(chain(15000,
                          [](Graph &g, auto from, auto to, int i) {
                            g.node(node("Shape", {from}, {at("s", i)}));
                            g.node(node("Reshape", {from, at("s", i)}, {to}));
                          }))
           .bytes;
     }},
    {"NodesThatNobodyReads",
     [] {
       Graph g;
       g.in("x").out("y").node(node("Relu", {"x"}, {"y"}));
       for (int i = 0; i < 30000; i++) g.node(node("Relu", {"x"}, {at("v", i)}));
       return model(g).bytes;
     }},
    {"Initializers",
     [] {
       Graph g;
       g.in("x").out("y").node(node("Relu", {"x"}, {"y"}));
       for (int i = 0; i < 40000; i++) g.init(floats(at("c", i)));
       return model(g).bytes;
     }},
    {"Inputs",
     [] {
       Graph g;
       g.out("y").node(node("Relu", {"x0"}, {"y"}));
       for (int i = 0; i < 20000; i++) g.in(at("x", i));
       return model(g).bytes;
     }},
    {"Outputs",
     [] {
       Graph g;
       g.in("x");
       for (int i = 0; i < 15000; i++) g.node(node("Relu", {"x"}, {at("y", i)})).out(at("y", i));
       return model(g).bytes;
     }},
    {"InputsOfNodes",
     [] {
       const std::vector<std::string> inputs(1000, "x");
       Graph g;
       g.in("x").out("y").node(node("Relu", {"v0"}, {"y"}));
       for (int i = 0; i < 240; i++) g.node(node("Sum", inputs, {at("v", i)}));
       return model(g).bytes;
     }},
    {"ShapesOfValues",
     [] {
       Graph g;
       g.in("x").out("y").node(node("Relu", {"x"}, {"y"}));
       for (int i = 0; i < 200000; i++)
         g.m.add(13, value_info(at("v", i), LK_F32, {"N", "M", "4"}));
       return model(g).bytes;
     }},
    {"Metadata",
     [] {
       Graph g;
       g.in("x").out("y").node(node("Relu", {"x"}, {"y"}));
       Message made = model(g);
       for (int i = 0; i < 200000; i++) made.add(14, entry(at("k", i), "v"));
       return made.bytes;
     }},
    {"NumbersOfAnAttribute",
     [] {
       Graph g;
       Message numbers = attribute("value_ints", kInts);
       for (int i = 0; i < 700000; i++) numbers.num(8, i);
       g.in("x", LK_I64, {"N"}).out("y", LK_I64, {"N"});
       g.node(node("Constant", {}, {"c"}, {numbers})).node(node("Add", {"x", "c"}, {"y"}));
       return model(g).bytes;
     }},
    {"NumbersOfATensor",
     [] {
       Graph g;
       std::vector<int64_t> numbers(4000000);
       for (size_t i = 0; i < numbers.size(); i++) numbers[i] = int64_t(i);
       g.in("x", LK_I64, {"N"}).out("y", LK_I64, {"N"});
       g.init(tensor("c", LK_I64, {int64_t(numbers.size())}, kInt64Data, varints(numbers)));
       return model(g.node(node("Add", {"x", "c"}, {"y"}))).bytes;
     }},
    {"Branches",
     [] {
       Graph g, sum, same;
       g.in("x").in("b", LK_BOOL, {});
       sum.node(node("Add", {"x", "x"}, {"v"})).out("v");
       same.node(node("Neg", {"x"}, {"v"})).out("v");
       for (int i = 0; i < 3000; i++) {
         g.node(node("If", {"b"}, {at("y", i)},
                     {body("then_branch", sum), body("else_branch", same)}));
       }
       return model(g.node(node("Relu", {"y0"}, {"y"})).out("y")).bytes;
     }},
    {"Functions",
     [] {
       Message made = model(chain(20000, [](Graph &g, auto from, auto to, int i) {
         g.node(node(at("F", i % 1000), {from}, {to}).text(7, "own"));
       }));
       made.add(8, Message().text(1, "own").num(2, 1));
       for (int i = 0; i < 1000; i++) {
         made.add(25, Message()
                          .text(1, at("F", i))
                          .text(4, "a")
                          .text(5, "b")
                          .add(7, node("Relu", {"a"}, {"t"}))
                          .add(7, node("Neg", {"t"}, {"b"}))
                          .add(9, Message().num(2, 13))
                          .text(10, "own"));
       }
       return made.bytes;
     }},
};

class OpeningBounded : public BoundedBase, public ::testing::WithParamInterface<Many> {};

TEST_P(OpeningBounded, LooksAgainAndAgain) {
  const std::string bytes = GetParam().bytes();
  lk_error error = {};
  const bool opens = check(GetParam().name,
                           [&] {
                             lk::Context context = lk::open(LK_CACHE_DEFAULT, 1);
                             lk_session_options options = LK_SESSION_OPTIONS_INIT;
                             options.cancel = &looks.cancel;
                             lk_session *session = nullptr;
                             looks.begin();
                             const lk_status status = level2()->open_memory(
                                 context, bytes.data(), bytes.size(), &options, &session, &error);
                             looks.end();
                             level2()->close(session);
                             return status == LK_OK || status == LK_CANCELLED;
                           },
                           {2, 4, 5, 6});
  EXPECT_TRUE(opens) << error.message;
}

INSTANTIATE_TEST_SUITE_P(Models, OpeningBounded, ::testing::ValuesIn(kinds),
                         [](const auto &info) { return info.param.name; });

} // namespace
