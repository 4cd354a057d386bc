// A run is terminated while it computes.
#include <thread>

#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"
#include "tests/harness/wait.h"

namespace ort {
namespace {

constexpr int64_t kSide = 512;
#if defined(__SANITIZE_THREAD__)
constexpr size_t kSteps = 4; // about a second
#elif defined(__SANITIZE_ADDRESS__)
constexpr size_t kSteps = 12; // as long
#else
constexpr size_t kSteps = 300; // about half a second for one thread
#endif

// y = x * w * w * ..., where w moves every column one place to the right: exact in floats.
std::string long_chain() {
  std::vector<float> shift(size_t(kSide * kSide), 0.0f);
  for (int64_t i = 0; i < kSide; i++) shift[size_t(i * kSide + (i + 1) % kSide)] = 1.0f;
  const std::string side = std::to_string(kSide);
  proto::Graph g;
  g.in("x", LK_F32, {"N", side}).out("y", LK_F32, {"N", side});
  g.init(proto::tensor("w", LK_F32, {kSide, kSide}, proto::kRawData, proto::raw(shift)));
  for (size_t i = 0; i < kSteps; i++) {
    const std::string from = i == 0 ? "x" : "h" + std::to_string(i);
    const std::string to = i + 1 == kSteps ? "y" : "h" + std::to_string(i + 1);
    g.node(proto::node("MatMul", {from, "w"}, {to}));
  }
  return bytes_of(g);
}

class Terminate : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(session.error(), ""); }

  Outcome run(const RunOptions *options = nullptr) const {
    return session.run({{"x", x}}, {"y"}, options);
  }
  void expect_whole(const Outcome &outcome) {
    ASSERT_EQ(outcome.error, "");
    const std::vector<float> in = x.data<float>(), out = outcome.outputs.at(0).data<float>();
    for (int64_t r = 0; r < kSide; r++) {
      for (int64_t c = 0; c < kSide; c++) {
        const int64_t to = (c + int64_t(kSteps)) % kSide;
        ASSERT_EQ(out[size_t(r * kSide + to)], in[size_t(r * kSide + c)]) << r << ", " << c;
      }
    }
  }

  // A run that is terminated when its thread has computed for 10 ms ends at one of its operators.
  template <typename Run> void expect_ends_midway(Run run_with) {
    RunOptions options;
    const pthread_t runs = pthread_self();
    const uint64_t until = lk::computed_ns(runs) + 10000000;
    std::thread other([&] {
      lk::wait_until([&] { return lk::computed_ns(runs) > until; });
      options.terminate();
    });
    const Outcome ended = run_with(options);
    other.join();
    EXPECT_THAT(ended.error, ::testing::AnyOf(::testing::HasSubstr("cancelled before node"),
                                              ::testing::HasSubstr("cancelled while it computed")));
    EXPECT_TRUE(ended.outputs.empty());
  }

  Host host;
  const Session session{host, long_chain()};
  const Tensor x = noise({kSide, kSide}, 3);
};

// The model is one fused node, so that ONNX Runtime itself would look only after the whole run.
TEST_F(Terminate, EndsARunMidway) {
  expect_whole(run());
  expect_ends_midway([&](const RunOptions &options) { return run(&options); });
  expect_whole(run());
}

// Terminating one run ends no other.
TEST_F(Terminate, LeavesOtherRunsAlone) {
  expect_whole(run()); // builds what both need
  expect_ends_midway([&](const RunOptions &options) {
    RunOptions others;
    Outcome whole;
    std::thread other([&] { whole = run(&others); });
    const Outcome ended = run(&options);
    other.join();
    expect_whole(whole);
    return ended;
  });
}

TEST_F(Terminate, BeforeARunDoesNotBeginIt) {
  RunOptions options;
  options.terminate();
  EXPECT_NE(run(&options).error, "");
  expect_whole(run());
}

} // namespace
} // namespace ort
