// Inputs with a default: runs that give them and runs that do not, on threads of one session.
#include <random>
#include <thread>

#include "tests/executor_glue/session/small_model.h"

namespace {

using namespace lk::small;
using ::testing::AllOf;
using ::testing::HasSubstr;

proto::Message number(const std::string &name, float value) {
  return proto::tensor(name, LK_F32, {1}, proto::kRawData, proto::raw(Floats{value}));
}

// y = x * k + c, where k is 2 and c is 1 unless a run gives them.
std::string line_bytes() {
  proto::Graph g;
  g.in("x").in("k", LK_F32, {"1"}).in("c", LK_F32, {"1"}).out("y");
  g.init(number("k", 2)).init(number("c", 1));
  g.node(proto::node("Mul", {"x", "k"}, {"m"})).node(proto::node("Add", {"m", "c"}, {"y"}));
  return proto::model(g).bytes;
}

// y = on ? Relu(x) : x + w, where `on` is true unless a run gives it, and w is of a type that
// cannot be read.
std::string choice_bytes() {
  proto::Graph g, as_it_is, with_w;
  as_it_is.node(proto::node("Relu", {"x"}, {"v"})).out("v");
  with_w.node(proto::node("Add", {"x", "w"}, {"v"})).out("v");
  g.in("x").in("on", LK_BOOL, {}).out("y");
  g.init(proto::tensor("on", LK_BOOL, {}, proto::kInt32Data, proto::varint(1)));
  g.init(proto::tensor("w", 17, {2}, proto::kRawData, "ab"));
  g.node(proto::node("If", {"on"}, {"y"},
                     {proto::attribute("then_branch", proto::kGraph).add(6, as_it_is.m),
                      proto::attribute("else_branch", proto::kGraph).add(6, with_w.m)}));
  return proto::model(g).bytes;
}

class Defaults : public Session {
protected:
  // Some runs of one thread, each of which gives k, c, both or none.
  void run_some(unsigned seed, int runs) {
    std::mt19937 random(seed);
    for (int i = 0; i < runs; i++) {
      Floats x = {1, 2, -3, 4}, y(4);
      Floats k = {float(random() % 9)}, c = {float(random() % 9)};
      std::vector<lk_named_tensor> inputs = {x_of(x)}, outputs = {named("y", {1, 4}, y.data())};
      const unsigned which = random() % 4;
      if ((which & 1) != 0) inputs.push_back(named("k", {1}, k.data()));
      if ((which & 2) != 0) inputs.push_back(named("c", {1}, c.data()));
      lk_error error;
      ASSERT_EQ(level2()->run(session, inputs.data(), uint32_t(inputs.size()), outputs.data(), 1,
                              nullptr, &error),
                LK_OK)
          << error.message;
      for (size_t e = 0; e < 4; e++) {
        EXPECT_EQ(y[e], x[e] * ((which & 1) != 0 ? k[0] : 2) + ((which & 2) != 0 ? c[0] : 1));
      }
    }
  }
};

// The first runs build what the others share, and a run that gives another one replaces it under
// those that use it.
TEST_F(Defaults, AreGivenByThreadsOfOneSession) {
  enum { ROUNDS = 8, THREADS = 4, RUNS = 12 };
  bytes = line_bytes();
  for (unsigned round = 0; round < ROUNDS; round++) {
    open();
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < THREADS; t++) {
      threads.emplace_back([this, seed = round * THREADS + t] { run_some(seed, RUNS); });
    }
    for (unsigned i = 0; i < 20; i++) EXPECT_LE(session_stats().runs, THREADS * RUNS);
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(session_stats().runs, uint64_t{THREADS * RUNS});
    level2()->close(session);
    session = nullptr;
  }
}

// What the session as it was opened does not read, a run that gives a default may make it read.
TEST_F(Defaults, ThatMakeAnUnreadTensorNeededAreRefused) {
  bytes = choice_bytes();
  open();
  Floats x = {-1, 2, -3, 4}, y(4);
  uint8_t off = 0;
  for (int i = 0; i < 2; i++) {
    std::vector<lk_named_tensor> outputs = {named("y", {1, 4}, y.data())};
    LK_ASSERT_OK(run({x_of(x)}, outputs));
    EXPECT_EQ(y, (Floats{0, 2, 0, 4}));
    LK_EXPECT_STATUS(LK_UNSUPPORTED, run({x_of(x), named("on", {}, &off, LK_BOOL)}, outputs));
    EXPECT_THAT(LK_MESSAGE,
                AllOf(HasSubstr("failed to load a model from memory: "), HasSubstr("'w'")));
  }
}

} // namespace
