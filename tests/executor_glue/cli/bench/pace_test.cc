// When requests are due at a rate.
#include "executor_glue/cli/bench/pace.h"

#include <gtest/gtest.h>

namespace {

constexpr uint64_t kFar = UINT64_MAX / 4; // nanoseconds that no test reaches

TEST(BenchPace, RequestsAreDueAtEqualDistances) {
  const bench_pace pace = bench_pace_begin(1000, 7, kFar);
  EXPECT_EQ(1e6, pace.interval_ns);
  EXPECT_EQ(pace.begin_ns, bench_pace_due(&pace, 7));
  EXPECT_EQ(pace.begin_ns + 5000000, bench_pace_due(&pace, 12));
  EXPECT_EQ(kFar - pace.begin_ns, pace.last_ns - kFar);
}

TEST(BenchPace, WhatIsDueAtTheEndIsNotSent) {
  bench_pace pace = bench_pace_begin(1000, 0, kFar);
  pace.until_ns = pace.begin_ns + 3000000;
  EXPECT_TRUE(bench_pace_allows(&pace, 2));
  EXPECT_FALSE(bench_pace_allows(&pace, 3));
  pace.last_ns = pace.begin_ns;
  EXPECT_FALSE(bench_pace_allows(&pace, 2));
}

TEST(BenchPace, CountsWhatWasDue) {
  bench_pace pace = bench_pace_begin(1000, 10, kFar);
  pace.begin_ns -= 10000000000; // ten seconds ago
  pace.until_ns = pace.begin_ns + 2500000;
  EXPECT_EQ(3u, bench_pace_count_due(&pace, 100)); // at 0, 1 and 2 ms
  EXPECT_EQ(2u, bench_pace_count_due(&pace, 12));
  pace.until_ns = pace.begin_ns + 3000000;
  EXPECT_EQ(3u, bench_pace_count_due(&pace, 100));
}

TEST(BenchPace, WithoutARateNothingIsDue) {
  const bench_pace pace = bench_pace_begin(0, 0, UINT64_MAX);
  EXPECT_TRUE(bench_pace_allows(&pace, 1000000));
  EXPECT_EQ(0u, bench_pace_count_due(&pace, 1000000));
  const bench_pace over = bench_pace_begin(0, 0, 1);
  EXPECT_FALSE(bench_pace_allows(&over, 0));
}

} // namespace
