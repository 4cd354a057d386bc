// Weights are packed once, whatever the number of sessions, and ONNX Runtime keeps no copy of them.
#include <memory>

#include "tests/executor_glue/ort/memory.h"
#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"

namespace ort {
namespace {

constexpr int64_t kSide = 2048;
constexpr double kMegabytes = 16; // of the weights

// Fixed shapes: the weights can be packed while the session is made.
std::string large_model() {
  const std::string side = std::to_string(kSide);
  proto::Graph g;
  g.in("x", LK_F32, {"4", side}).out("y", LK_F32, {"4", side});
  g.init(weights("w", {kSide, kSide}, 5));
  g.node(proto::node("MatMul", {"x", "w"}, {"h"}, {}, "large"));
  g.node(proto::node("Relu", {"h"}, {"y"}));
  return bytes_of(g);
}

class Weights : public ::testing::Test {
protected:
  Host host;
  const std::string model = large_model();
  const Inputs inputs = {{"x", noise({4, kSide}, 2)}};
};

TEST_F(Weights, ArePackedOnceForTwoSessions) {
  const Session first(host, model);
  const Report alone = first.report(inputs, {"y"});
  EXPECT_EQ(alone.number("context.weights.packed"), 1);
  EXPECT_EQ(alone.number("subgraphs.0.run_plan_builds"), 1); // before the first run
  const Session second(host, model);
  const Report both = second.report(inputs, {"y"});
  EXPECT_EQ(both.number("context.weights.packed"), 1);
  EXPECT_GT(both.number("context.weights.shared"), alone.number("context.weights.shared"));
  EXPECT_EQ(both.number("context.weights.bytes"), alone.number("context.weights.bytes"));
  expect_same(second.run(inputs, {"y"}).outputs, first.run(inputs, {"y"}).outputs, lk::EXACTLY);
}

TEST_F(Weights, OutliveTheSessionThatPackedThem) {
  auto first = std::make_unique<Session>(host, model);
  const Outcome before = first->run(inputs, {"y"});
  const Session second(host, model);
  first.reset();
  expect_same(second.run(inputs, {"y"}).outputs, before.outputs, lk::EXACTLY);
  Options cpu;
  cpu.on_provider = false;
  expect_same(second.run(inputs, {"y"}).outputs,
              Session(host, model, cpu).run(inputs, {"y"}).outputs, lk::of_sums(kSide));
}

TEST_F(Weights, LieInMemoryOnce) {
#ifdef LK_TEST_MEASURES_MEMORY
  { // what is allocated once, by whom ever
    const Session warm(host, perceptron());
    EXPECT_EQ(warm.run({{"x", noise({3, 4}, 1)}}, {"y"}).error, "");
  }
  const double before = resident_megabytes();
  const Session first(host, model);
  EXPECT_EQ(first.run(inputs, {"y"}).error, "");
  const double with_one = resident_megabytes();
  EXPECT_LT(with_one - before, 1.5 * kMegabytes);
  EXPECT_GT(with_one - before, 0.9 * kMegabytes); // or this test measures nothing
  const Session second(host, model);
  EXPECT_EQ(second.run(inputs, {"y"}).error, "");
  EXPECT_LT(resident_megabytes() - with_one, 0.25 * kMegabytes);
#else
  GTEST_SKIP() << LK_TEST_SANITIZER_HAS_MEMORY;
#endif
}

} // namespace
} // namespace ort
