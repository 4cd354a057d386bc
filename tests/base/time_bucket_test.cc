// Buckets of times: each begins where the one before it ends.
#include <gtest/gtest.h>

extern "C" {
#include "base/time_bucket.h"
}

namespace {

TEST(TimeBucket, HoldsLessThanItsPowerOfTwo) {
  EXPECT_EQ(lk_time_bucket(0), 0u);
  EXPECT_EQ(lk_time_bucket(999), 0u);
  for (uint32_t i = 1; i < LK_TIME_BUCKETS; i++) {
    const uint64_t least = (UINT64_C(1) << (i - 1)) * 1000;
    EXPECT_EQ(lk_time_bucket(least - 1), i - 1);
    EXPECT_EQ(lk_time_bucket(least), i);
    EXPECT_EQ(lk_time_bucket(2 * least - 1), i);
  }
}

TEST(TimeBucket, LastOneHoldsTheRest) {
  EXPECT_EQ(lk_time_bucket(UINT64_C(3600) * 1000000000), LK_TIME_BUCKETS - 1u);
  EXPECT_EQ(lk_time_bucket(UINT64_MAX), LK_TIME_BUCKETS - 1u);
}

} // namespace
