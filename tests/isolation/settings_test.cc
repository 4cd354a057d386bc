// Settings that another thread or another context changes: the number of threads.
#include <thread>

#include "tests/executor_glue/session/small_model.h"
#include "tests/isolation/node_model.h"

namespace {

using lk::Context;

Context open(uint32_t mode, int32_t threads) {
  Context context;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.cache_mode = mode;
  options.threads = threads;
  LK_EXPECT_OK(lk::api()->context_create(&options, context.out(), LK_ERR));
  return context;
}

class Settings : public ::testing::TestWithParam<uint32_t> {};
LK_IN_BOTH_MODES(Settings);

class Run : public lk::small::Session {
public:
  using Session::check_in;
};

// Contexts for 1, 2 and 3 threads run one model at the same time, each from several threads.
TEST_P(Settings, ContextsForDifferentNumbersOfThreads) {
  const std::string bytes = lk::small::model_bytes();
  const int32_t counts[] = {1, 2, 3};
  Context contexts[3];
  lk_session *sessions[3] = {};
  for (int i = 0; i < 3; i++) {
    contexts[i] = open(GetParam(), counts[i]);
    LK_ASSERT_OK(lk::small::level2()->open_memory(contexts[i], bytes.data(), bytes.size(), nullptr,
                                                  &sessions[i], LK_ERR));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 12; i++) {
        lk::small::Floats x = lk::small::numbers(size_t(1 + i % 3), 0.5f);
        lk_named_tensor in = {"x", {lk::desc_of(LK_F32, {1 + i % 3, 4}), x.data()}};
        lk::small::Floats y(x.size());
        lk_named_tensor out = {"y", {in.tensor.desc, y.data()}};
        lk_session *const session = sessions[(i + t) % 3];
        LK_EXPECT_OK(lk::small::level2()->run(session, &in, 1, &out, 1, nullptr, LK_ERR));
        lk::small::expect_near(y, lk::small::expected_y(x));
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (int i = 0; i < 3; i++) {
    Run::check_in(sessions[i], lk::small::numbers(2, 0.5f)); // on this thread too
    lk::small::level2()->close(sessions[i]);
  }
}

} // namespace
