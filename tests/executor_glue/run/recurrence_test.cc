// What is looked up, built and packed when shapes come back, when a model is opened twice, and when
// a batch is empty: exact numbers.
#include "tests/executor_glue/run/model_chain.h"

namespace {

constexpr int kPairs = 3;
constexpr uint64_t kNodes = 2 * kPairs;

struct Counts {
  uint64_t name_hits, name_misses, name_builds;

  static Counts of(const lk::Chain &chain) {
    const lk_stats s = chain.stats();
    const lk_kind_stats &name = s.kind[LK_KIND_NAME];
    return {name.hits, name.misses, name.builds};
  }
  Counts since(const Counts &b) const {
    return {name_hits - b.name_hits, name_misses - b.name_misses, name_builds - b.name_builds};
  }
};

class Recurrence : public ::testing::TestWithParam<uint32_t> {
protected:
  void expect_run(lk_session *session, size_t rows, float start = 0.1f) {
    const lk::Floats x = lk::chain_input(rows, start);
    lk::Floats y(x.size(), -1.0f);
    chain_.run(session, x, &y);
    const lk::Floats right = lk::chain_expected(x, kPairs);
    EXPECT_TRUE(lk::all_close(right, y)) << rows << " rows";
  }

  const std::string model_ = lk::chain_model(kPairs);
  lk::Chain chain_{lk_get_api(LK_API_VERSION), lk_get_session_api(LK_SESSION_API_VERSION),
                   GetParam()};
};

TEST_P(Recurrence, WithoutRunPlansEveryOperatorAsksByName) {
  lk_session *session = chain_.open(model_, -1);
  Counts before = Counts::of(chain_);
  for (const size_t rows : {3u, 8u}) {
    expect_run(session, rows);
    const Counts first = Counts::of(chain_).since(before);
    EXPECT_EQ(first.name_hits, 0u);
    EXPECT_EQ(first.name_misses, kNodes);
    EXPECT_EQ(first.name_builds, kNodes);
    before = Counts::of(chain_);
  }
  for (const size_t rows : {3u, 8u, 3u, 8u}) {
    expect_run(session, rows, 0.4f);
    const Counts again = Counts::of(chain_).since(before);
    EXPECT_EQ(again.name_hits, kNodes);
    EXPECT_EQ(again.name_misses, 0u);
    EXPECT_EQ(again.name_builds, 0u);
    before = Counts::of(chain_);
  }
  EXPECT_EQ(chain_.stats().kind[LK_KIND_RUN].builds, 0u);
}

TEST_P(Recurrence, ASecondSessionPacksNothing) {
  lk_session *first = chain_.open(model_);
  for (const size_t rows : {3u, 8u}) expect_run(first, rows);
  const lk_stats before = chain_.stats();
  const Counts counts = Counts::of(chain_);
  ASSERT_GT(before.weights_packed, 0u);

  lk_session *second = chain_.open(model_);
  for (const size_t rows : {3u, 8u}) expect_run(second, rows);
  const lk_stats after = chain_.stats();
  const Counts added = Counts::of(chain_).since(counts);
  EXPECT_EQ(added.name_hits + added.name_misses, 0u) << "a run plan has its plans for itself";
  EXPECT_EQ(after.weights_packed, before.weights_packed);
  EXPECT_EQ(after.weights_entries, before.weights_entries);
  EXPECT_EQ(after.weights_bytes, before.weights_bytes);
  EXPECT_GT(after.weights_shared, before.weights_shared);
}

TEST_P(Recurrence, AnEmptyBatchWorksAndSoDoesTheNext) {
  for (const int32_t run_plans : {1, -1}) {
    lk_session *session = chain_.open(model_, run_plans);
    for (const size_t rows : {0u, 4u, 0u, 1u}) expect_run(session, rows);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Recurrence, ::testing::Values(LK_CACHE_THREAD, LK_CACHE_SHARED),
                         [](const auto &mode) {
                           return mode.param == LK_CACHE_THREAD ? "Thread" : "Shared";
                         });

} // namespace
