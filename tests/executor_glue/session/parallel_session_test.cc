// The parallel executor on the real library: random graphs of real operators give the same bits as
// the naive executor with one thread for each operator.
#include <latchkey/session.h>

#include <cstring>
#include <random>
#include <thread>

#include "tests/executor_glue/onnx/proto_writer.h"

using ::testing::HasSubstr;
using Floats = std::vector<float>;

namespace {

constexpr int64_t CHANNELS = 8;

const lk_api *api() {
  return lk_get_api(LK_API_VERSION);
}
const lk_session_api *level2() {
  return lk_get_session_api(LK_SESSION_API_VERSION);
}

Floats random_floats(std::mt19937 &random, size_t count) {
  Floats x(count);
  for (float &v : x) v = float(random() % 2001) / 1000 - 1;
  return x;
}

// Operators on [n, 8, h, w] that keep this shape; some branch off early, some late.
std::string random_model(uint32_t seed) {
  std::mt19937 random(seed);
  proto::Graph g;
  g.in("x", LK_F32, {"N", std::to_string(CHANNELS), "H", "W"});
  std::vector<std::string> values = {"x"};
  const auto any = [&] { return values[random() % values.size()]; };
  const int count = 8 + int(random() % 20);
  for (int i = 0; i < count; i++) {
    const std::string y = "v" + std::to_string(i), w = "w" + std::to_string(i);
    switch (random() % 7) {
    case 0:
    case 1:
    case 2: {
      const Floats weights = random_floats(random, size_t(CHANNELS * CHANNELS * 9));
      g.init(proto::tensor(w, LK_F32, {CHANNELS, CHANNELS, 3, 3}, proto::kRawData,
                           proto::raw(weights)));
      g.node(proto::node(
          "Conv", {any(), w}, {y},
          {proto::attribute("pads", proto::kInts).num(8, 1).num(8, 1).num(8, 1).num(8, 1)}));
      break;
    }
    case 3:
      g.node(proto::node("Sigmoid", {any()}, {y}));
      break;
    case 4:
      g.node(proto::node("Relu", {any()}, {y}));
      break;
    case 5:
      g.node(proto::node("Mul", {any(), any()}, {y}));
      break;
    default:
      g.node(proto::node("Add", {any(), any()}, {y}));
    }
    values.push_back(y);
  }
  for (int i = 0; i < 3; i++) {
    const std::string last = values[values.size() - 1 - size_t(i)];
    g.node(proto::node("Concat", {last, any()}, {"y" + std::to_string(i)},
                       {proto::attribute("axis", proto::kInt).num(3, 1)}));
    g.out("y" + std::to_string(i));
  }
  return proto::model(g).bytes;
}

class Opened {
public:
  Opened(const std::string &bytes, uint32_t mode, uint32_t executor, int32_t inter,
         int32_t run_plans = 0, int32_t threads = 1)
      : bytes_(bytes) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.cache_mode = mode;
    options.threads = threads;
    LK_EXPECT_OK(api()->context_create(&options, &context, LK_ERR));
    lk_session_options how = LK_SESSION_OPTIONS_INIT;
    how.executor = executor;
    how.inter = inter;
    how.run_plans = run_plans;
    LK_EXPECT_OK(
        level2()->open_memory(context, bytes_.data(), bytes_.size(), &how, &session, LK_ERR));
  }
  ~Opened() {
    level2()->close(session);
    api()->context_destroy(context);
  }
  // All outputs, one behind the other.
  Floats run(Floats x, int64_t h, int64_t w) {
    const int64_t n = int64_t(x.size()) / (CHANNELS * h * w);
    const int64_t dims[] = {n, CHANNELS, h, w};
    lk_named_tensor input = {"x", {{LK_F32, 4, LK_LAYOUT_PLAIN, 0, {}}, x.data()}};
    for (int i = 0; i < 4; i++) input.tensor.desc.dims[i] = dims[i];
    lk_named_tensor outputs[3] = {{"y0", {}}, {"y1", {}}, {"y2", {}}};
    lk_error error;
    Floats all;
    const lk_status status = level2()->run(session, &input, 1, outputs, 3, nullptr, &error);
    EXPECT_EQ(status, LK_OK) << error.message;
    for (const lk_named_tensor &y : outputs) {
      const auto *data = static_cast<const float *>(y.tensor.data);
      if (data != nullptr) all.insert(all.end(), data, data + n * 2 * CHANNELS * h * w);
    }
    level2()->outputs_release(session, outputs, 3);
    return all;
  }
  lk_session_stats stats() {
    lk_session_stats now{};
    now.struct_size = sizeof now;
    LK_EXPECT_OK(level2()->stats(session, &now, LK_ERR));
    return now;
  }

  lk_context *context = nullptr;
  lk_session *session = nullptr;

private:
  const std::string bytes_;
};

bool same_bits(const Floats &a, const Floats &b) {
  return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class ParallelSession : public ::testing::TestWithParam<uint32_t> {
protected:
  void SetUp() override {
    processors_ = api()->processors_get();
    LK_ASSERT_OK(api()->processors_set(4, LK_ERR)); // whatever the machine has
  }
  void TearDown() override { LK_ASSERT_OK(api()->processors_set(processors_, LK_ERR)); }

private:
  int32_t processors_ = 0;
};

TEST_P(ParallelSession, GivesTheSameBitsAsTheNaiveExecutor) {
  uint64_t at_once = 0;
  for (uint32_t seed = 1; seed <= 12; seed++) {
    const std::string bytes = random_model(seed);
    std::mt19937 random(seed);
    Opened naive(bytes, GetParam(), LK_EXECUTOR_NAIVE, 0);
    Opened two(bytes, GetParam(), LK_EXECUTOR_PARALLEL, 2, seed % 4 == 0 ? -1 : 0);
    Opened four(bytes, GetParam(), LK_EXECUTOR_PARALLEL, 4);
    for (int i = 0; i < 6; i++) {
      const int64_t h = 5 + 3 * (i % 3), w = 6 + i % 2;
      const Floats x = random_floats(random, size_t((1 + i % 2) * CHANNELS * h * w));
      const Floats expected = naive.run(x, h, w);
      ASSERT_FALSE(expected.empty());
      EXPECT_TRUE(same_bits(two.run(x, h, w), expected)) << "seed " << seed << ", run " << i;
      EXPECT_TRUE(same_bits(four.run(x, h, w), expected)) << "seed " << seed << ", run " << i;
    }
    EXPECT_EQ(naive.stats().parallel_runs, 0u);
    at_once += two.stats().parallel_runs + four.stats().parallel_runs;
  }
  EXPECT_GT(at_once, 40u);
}

TEST_P(ParallelSession, OfManyThreadsGivesEachItsOwn) {
  const std::string bytes = random_model(3);
  Opened naive(bytes, GetParam(), LK_EXECUTOR_NAIVE, 0);
  Opened parallel(bytes, GetParam(), LK_EXECUTOR_PARALLEL, 3);
  std::mt19937 random(7);
  std::vector<Floats> inputs, expected;
  for (int64_t i = 0; i < 4; i++) {
    inputs.push_back(random_floats(random, size_t(CHANNELS * (6 + i) * 7)));
    expected.push_back(naive.run(inputs.back(), 6 + i, 7));
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (size_t t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 12; i++) {
        const size_t at = (i + t) % inputs.size();
        wrong += !same_bits(parallel.run(inputs[at], 6 + int64_t(at), 7), expected[at]);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(parallel.stats().runs, 48u);
}

INSTANTIATE_TEST_SUITE_P(Modes, ParallelSession,
                         ::testing::Values(LK_CACHE_SHARED, LK_CACHE_THREAD, LK_CACHE_OFF));

TEST(ParallelSessionOptions, AreChecked) {
  const std::string bytes = random_model(1);
  lk_context *context = nullptr;
  lk_session *session = nullptr;
  LK_ASSERT_OK(api()->context_create(nullptr, &context, LK_ERR));
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  const auto refused = [&](const char *option) {
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, level2()->open_memory(context, bytes.data(), bytes.size(),
                                                            &options, &session, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(option));
    options = LK_SESSION_OPTIONS_INIT;
  };
  options.executor = 2;
  refused("executor: it is 2");
  options.inter = -1;
  refused("inter: it is -1");
  options.inter = 1025;
  refused("inter: it is 1025");
  options.when_busy = 2;
  refused("when_busy: it is 2");
  api()->context_destroy(context);
}

} // namespace
