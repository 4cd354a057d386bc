// Models come and go and limits change while others run: no run notices.
#include <atomic>
#include <thread>

#include "tests/executor_glue/session/small_model.h"
#include "tests/isolation/node_model.h"

namespace {

using namespace lk::small;
using lk::Model;

// Runs `work(i)` on a few threads until `busy` has ended.
template <typename Work, typename Busy> void meanwhile(Work work, Busy busy) {
  std::atomic<bool> done{false};
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; !done || i < 4; i++) {
        work(3 * i + t);
        if (i == 0) started++;
      }
    });
  }
  while (started < 3) std::this_thread::yield();
  busy();
  done = true;
  for (std::thread &thread : threads) thread.join();
}

class NodeChurn : public ::testing::TestWithParam<uint32_t> {};
LK_IN_BOTH_MODES(NodeChurn);

TEST_P(NodeChurn, ExecutorsComeAndGo) {
  const lk::Context context = lk::open(GetParam());
  const Model kept(context, 1000);
  for (int rows = 1; rows <= 4; rows++) kept.check(rows);
  const uint64_t weights = lk::stats(context).weights_entries;
  meanwhile([&](int i) { kept.check(1 + i % 4); },
            [&] {
              for (unsigned i = 0; i < 150; i++) {
                const Model brief(context, i);
                brief.check(1 + i % 4);
              }
            });
  const lk_stats left = lk::stats(context);
  EXPECT_LE(left.kind[LK_KIND_NAME].entries, GetParam() == LK_CACHE_SHARED ? 4u : 16u);
  EXPECT_EQ(left.weights_entries, weights) << "the kept one's";
}

class Churn : public Session, public ::testing::WithParamInterface<uint32_t> {
protected:
  void start() {
    open_context(GetParam());
    open();
  }
  void keep_running(int i) { check(numbers(size_t(1 + i % 5), float(i % 7))); }
};
LK_IN_BOTH_MODES(Churn);

TEST_P(Churn, SessionsOfEqualNamesComeAndGo) {
  start();
  meanwhile([&](int i) { keep_running(i); },
            [&] {
              for (int i = 0; i < 25; i++) {
                const float bias = 1.0f + float(i);
                const std::string other = model_bytes(bias);
                lk_session *brief = nullptr, *twin = nullptr;
                LK_ASSERT_OK(level2()->open_memory(context, other.data(), other.size(), nullptr,
                                                   &brief, LK_ERR));
                check_in(brief, numbers(2, 1), bias);
                LK_ASSERT_OK(level2()->clone(brief, &twin, LK_ERR));
                level2()->close(brief);
                check_in(twin, numbers(2, 2), bias);
                level2()->close(twin);
              }
            });
}

TEST_P(Churn, TheCacheIsClearedByAnotherThread) {
  start();
  lk_executor *const executor = level2()->executor(session);
  meanwhile([&](int i) { keep_running(i); },
            [&] {
              for (int i = 0; i < 100; i++) {
                LK_ASSERT_OK(api()->cache_clear(context, i % 2 == 0 ? executor : nullptr, LK_ERR));
              }
            });
  LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
  EXPECT_EQ(stats().entries, 0u);
  EXPECT_EQ(stats().unlinked_bytes, 0u);
  EXPECT_EQ(session_stats().frames, 0u);
}

TEST_P(Churn, LimitsAreChangedByAnotherThread) {
  start();
  lk_executor *const executor = level2()->executor(session);
  const uint64_t limits[] = {0, 1, 3, 10, 30, LK_UNLIMITED};
  meanwhile([&](int i) { keep_running(i); },
            [&] {
              for (int i = 0; i < 100; i++) {
                lk_executor *const whose = i % 2 == 0 ? executor : nullptr;
                const uint64_t entries = limits[i % 6], bytes = limits[(i / 6) % 6] * 3000;
                LK_ASSERT_OK(api()->cache_set_capacity(context, whose, entries,
                                                       i % 3 == 0 ? bytes : LK_UNSET, LK_ERR));
              }
              LK_ASSERT_OK(
                  api()->cache_set_capacity(context, executor, LK_UNLIMITED, LK_UNLIMITED, LK_ERR));
              LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 3, LK_UNLIMITED, LK_ERR));
            });
  EXPECT_LE(stats().entries, 3u) << "the last limit holds";
}

// Statistics and entries while others run: sums never go backwards, and listed entries can be read.
TEST_P(Churn, StatisticsAreReadByAnotherThread) {
  start();
  meanwhile([&](int i) { keep_running(i); },
            [&] {
              uint64_t runs = 0, asked = 0;
              for (int i = 0; i < 200; i++) {
                const lk_session_stats mine = session_stats();
                const lk_stats all = stats();
                const lk_kind_stats &run = all.kind[LK_KIND_RUN];
                EXPECT_GE(mine.runs, runs);
                EXPECT_GE(run.hits + run.misses, asked);
                EXPECT_LE(all.bytes, all.peak_bytes);
                runs = mine.runs;
                asked = run.hits + run.misses;
                LK_ASSERT_OK(api()->cache_visit(
                    context,
                    [](void *arg, const lk_entry_info *entry) {
                      char text[2048];
                      EXPECT_EQ(api()->key_print(static_cast<lk_context *>(arg), entry->key, text,
                                                 sizeof text, nullptr, nullptr),
                                LK_OK);
                      EXPECT_GT(entry->bytes, 0u);
                    },
                    context, LK_ERR));
              }
            });
  const lk_kind_stats run = stats().kind[LK_KIND_RUN];
  EXPECT_EQ(run.hits + run.misses, session_stats().runs);
}

} // namespace
