// Several threads in one session, and sessions that come and go while others run.
#include <atomic>
#include <memory>
#include <thread>

#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"

namespace ort {
namespace {

constexpr size_t kThreads = 8, kRuns = 200;

// x [N, T, 8] -> y [M, 8], with a reshape in the middle that follows the input's shape.
std::string sequence_model() {
  proto::Graph g;
  g.in("x", LK_F32, {"N", "T", "8"}).out("y", LK_F32, {"M", "8"});
  g.init(weights("w1", {8, 24}, 41)).init(weights("b1", {24}, 42)).init(weights("w2", {24, 8}, 43));
  g.init(ints("flat", {-1, 24}));
  g.node(proto::node("MatMul", {"x", "w1"}, {"h1"}));
  g.node(proto::node("Add", {"h1", "b1"}, {"h2"}));
  g.node(proto::node("Relu", {"h2"}, {"h3"}));
  g.node(proto::node("Reshape", {"h3", "flat"}, {"h4"}));
  g.node(proto::node("MatMul", {"h4", "w2"}, {"h5"}));
  g.node(proto::node("Softmax", {"h5"}, {"y"}, {int_attribute("axis", -1)}));
  return bytes_of(g);
}

// x [N, T, 8] -> y, by one step, which needs no memory of its own: what a run has taken stays for
// the next one.
std::string light_model() {
  proto::Graph g;
  g.in("x", LK_F32, {"N", "T", "8"}).out("y", LK_F32, {"N", "T", "8"});
  g.init(weights("w", {8}, 44));
  g.node(proto::node("Mul", {"x", "w"}, {"h"}));
  g.node(proto::node("Relu", {"h"}, {"y"}));
  return bytes_of(g);
}

std::vector<Inputs> inputs_of_20_shapes() {
  std::vector<Inputs> out;
  for (int64_t n = 1; n <= 4; n++) {
    for (int64_t t = 1; t <= 9; t += 2) {
      out.push_back({{"x", noise({n, t, 8}, uint32_t(10 * n + t))}});
    }
  }
  return out;
}

template <typename Body> void in_threads(size_t count, Body body) {
  std::vector<std::thread> threads;
  for (size_t t = 0; t < count; t++) threads.emplace_back([&body, t] { body(t); });
  for (std::thread &thread : threads) thread.join();
}

class Threads : public ::testing::TestWithParam<const char *> {
protected:
  Threads() { options.provider = {{"cache", GetParam()}}; }

  void expect_what_one_makes(const std::string &model);

  Host host;
  Options options;
};

void Threads::expect_what_one_makes(const std::string &model) {
  const std::vector<Inputs> inputs = inputs_of_20_shapes();
  ASSERT_EQ(inputs.size(), 20u);
  const Session session(host, model, options);
  ASSERT_EQ(session.error(), "");
  std::vector<Outcome> alone;
  for (const Inputs &each : inputs) alone.push_back(session.run(each, {"y"}));
  Options cpu;
  cpu.on_provider = false;
  const Session reference(host, model, cpu);
  for (size_t i = 0; i < inputs.size(); i++) {
    expect_same(alone[i].outputs, reference.run(inputs[i], {"y"}).outputs);
  }
  std::atomic<size_t> wrong{0};
  // A new session, so that all threads meet its shapes for the first time, together.
  const Session fresh(host, model, options);
  in_threads(kThreads, [&](size_t t) {
    for (size_t i = 0; i < kRuns; i++) {
      const size_t which = (i * (2 * t + 1) + t) % inputs.size();
      const Outcome outcome = fresh.run(inputs[which], {"y"});
      wrong += !outcome.error.empty() || outcome.outputs.size() != 1 ||
               outcome.outputs[0].dims != alone[which].outputs[0].dims ||
               outcome.outputs[0].bytes != alone[which].outputs[0].bytes;
    }
  });
  EXPECT_EQ(wrong, 0u);
}

TEST_P(Threads, MakeWhatOneThreadMakes) {
  expect_what_one_makes(sequence_model());
}

TEST_P(Threads, MakeWhatOneMakesWithRunsThatAreKept) {
  options.provider.emplace_back("claim", "all");
  expect_what_one_makes(light_model());
}

TEST_P(Threads, RunWhileOtherSessionsOpenAndClose) {
  const std::string model = sequence_model(), other = perceptron();
  const std::vector<Inputs> inputs = inputs_of_20_shapes();
  const Session session(host, model, options);
  std::vector<Outcome> alone;
  for (const Inputs &each : inputs) alone.push_back(session.run(each, {"y"}));
  std::atomic<bool> done{false};
  std::atomic<size_t> wrong{0}, runs{0};
  std::thread opener([&] {
    for (size_t i = 0; i < 25; i++) {
      // Of the same model, which shares weights, and of another.
      const Session same(host, model, options), different(host, other, options);
      const size_t which = i % inputs.size();
      wrong += same.run(inputs[which], {"y"}).outputs.at(0).bytes != alone[which].outputs[0].bytes;
      wrong += !different.run({{"x", noise({2, 4}, 1)}}, {"y"}).error.empty();
    }
    done = true;
  });
  in_threads(3, [&](size_t t) {
    for (size_t i = t; !done; i++, runs++) {
      const size_t which = i % inputs.size();
      wrong +=
          session.run(inputs[which], {"y"}).outputs.at(0).bytes != alone[which].outputs[0].bytes;
    }
  });
  opener.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(runs, 0u);
}

// x [N, 3, H, W] -> y: large enough that operators are split between threads.
TEST_P(Threads, ShareOperatorsWithTheSession) {
  const std::string model = classifier();
  const Inputs inputs = {{"x", noise({2, 3, 64, 64}, 5)}};
  Options cpu;
  cpu.on_provider = false;
  const std::vector<Tensor> wanted = Session(host, model, cpu).run(inputs, {"y"}).outputs;
  options.threads = 3;
  const Session session(host, model, options);
  json_int_t lent = 0;
  while (lent ==
         0) { // nobody waits for a thread of the session that does not come, but once one does
    expect_same(session.run(inputs, {"y"}).outputs, wanted);
    lent = session.report(inputs, {"y"}).number("subgraphs.0.lent_shares");
  }
  std::atomic<size_t> wrong{0};
  const Tensor alone = session.run(inputs, {"y"}).outputs.at(0);
  in_threads(4, [&](size_t) { // of three threads, two that can be lent
    for (size_t i = 0; i < 50; i++) {
      wrong += session.run(inputs, {"y"}).outputs.at(0).bytes != alone.bytes;
    }
  });
  EXPECT_EQ(wrong, 0u);
}

TEST_P(Threads, OpenSessionsAtOnce) {
  const std::string model = sequence_model();
  const Inputs inputs = {{"x", noise({2, 3, 8}, 1)}};
  const Outcome alone = Session(host, model, options).run(inputs, {"y"});
  ASSERT_EQ(alone.error, "");
  std::atomic<size_t> wrong{0};
  in_threads(4, [&](size_t) {
    for (size_t i = 0; i < 8; i++) {
      const Session session(host, model, options);
      wrong += session.run(inputs, {"y"}).outputs.at(0).bytes != alone.outputs[0].bytes;
    }
  });
  EXPECT_EQ(wrong, 0u);
}

INSTANTIATE_TEST_SUITE_P(Caches, Threads, ::testing::Values("shared", "thread", "off"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace ort
