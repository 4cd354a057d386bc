// Failures of requests by their sentences.
#include "executor_glue/cli/bench/failures.h"

#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

TEST(BenchFailures, EqualSentencesAreCountedTogether) {
  bench_failures failures = {};
  for (const char *message : {"b", "a", "b", "b"}) bench_failures_note(&failures, message);
  EXPECT_EQ(4u, failures.count);
  ASSERT_EQ(2u, failures.n_kept);
  EXPECT_STREQ("b", failures.messages[0]);
  EXPECT_STREQ("a", failures.messages[1]);
  EXPECT_EQ(3u, failures.counts[0]);
  EXPECT_EQ(1u, failures.counts[1]);
}

TEST(BenchFailures, BeyondTheFirstOnesOnlyTheNumberIsKept) {
  bench_failures failures = {};
  for (int i = 0; i < 3 * BENCH_FAILURES_KEPT; i++) {
    bench_failures_note(&failures, std::to_string(i).c_str());
  }
  bench_failures_note(&failures, "0");
  EXPECT_EQ(3u * BENCH_FAILURES_KEPT + 1, failures.count);
  ASSERT_EQ(static_cast<uint32_t>(BENCH_FAILURES_KEPT), failures.n_kept);
  EXPECT_EQ(2u, failures.counts[0]);
  EXPECT_STREQ("7", failures.messages[BENCH_FAILURES_KEPT - 1]);
}

TEST(BenchFailures, MergedAreThoseOfBoth) {
  bench_failures one = {};
  bench_failures other = {};
  bench_failures_note(&one, "a");
  bench_failures_note(&other, "b");
  bench_failures_note(&other, "a");
  for (int i = 0; i < 20; i++) bench_failures_note(&other, std::to_string(i).c_str());
  bench_failures_merge(&one, &other);
  EXPECT_EQ(23u, one.count);
  EXPECT_STREQ("a", one.messages[0]);
  EXPECT_EQ(2u, one.counts[0]);
  EXPECT_STREQ("b", one.messages[1]);
  EXPECT_EQ(3u + BENCH_FAILURES_KEPT - 2,
            std::accumulate(one.counts, one.counts + one.n_kept, uint64_t{0}));
}

TEST(BenchFailures, LongSentencesAreCut) {
  bench_failures failures = {};
  bench_failures_note(&failures, std::string(2000, 'x').c_str());
  EXPECT_EQ(std::string(LK_ERROR_CAPACITY - 1, 'x'), failures.messages[0]);
}

} // namespace
