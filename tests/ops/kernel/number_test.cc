// Conversions between number formats: every 16-bit pattern, and what lies at the limits.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/kernel/number.h"
}

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();

TEST(Number, EveryHalfComesBack) {
  for (uint32_t i = 0; i <= 0xffff; i++) {
    const auto bits = static_cast<uint16_t>(i);
    const double value = lk_f16_to_f64(bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(lk_f16_to_f64(lk_f64_to_f16(value)))) << i;
    } else {
      ASSERT_EQ(lk_f64_to_f16(value), bits) << i;
    }
  }
}

TEST(Number, EveryBfloatIsTheUpperHalfOfAFloat) {
  for (uint32_t i = 0; i <= 0xffff; i++) {
    const uint32_t wide = i << 16;
    float expected;
    std::memcpy(&expected, &wide, sizeof expected);
    const double value = lk_bf16_to_f64(static_cast<uint16_t>(i));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << i;
    } else {
      ASSERT_EQ(value, static_cast<double>(expected)) << i;
      ASSERT_EQ(lk_f64_to_bf16(value), i) << i;
    }
  }
}

// Between two neighbours the nearer one, in the middle the even one.
TEST(Number, HalvesAreRoundedToTheNearest) {
  for (uint16_t bits = 0; bits < 0x7bff; bits++) {
    const double low = lk_f16_to_f64(bits), high = lk_f16_to_f64(bits + 1),
                 middle = (low + high) / 2;
    ASSERT_EQ(lk_f64_to_f16(std::nextafter(middle, low)), bits) << bits;
    ASSERT_EQ(lk_f64_to_f16(std::nextafter(middle, high)), bits + 1) << bits;
    ASSERT_EQ(lk_f64_to_f16(middle), bits + (bits & 1)) << bits;
  }
}

TEST(Number, BeyondTheLargestIsInfinity) {
  EXPECT_EQ(lk_f64_to_f16(65519.99), 0x7bff);
  EXPECT_EQ(lk_f64_to_f16(65520), 0x7c00);
  EXPECT_EQ(lk_f64_to_f16(-INF), 0xfc00);
  EXPECT_EQ(lk_f64_to_bf16(1e300), 0x7f80);
}

TEST(Number, IntegersOutOfRangeAreTheLeast) {
  EXPECT_EQ(lk_f64_to_i64(-1.9), -1);
  EXPECT_EQ(lk_f64_to_i64(-0x1p63), INT64_MIN);
  EXPECT_EQ(lk_f64_to_i64(0x1p63), INT64_MIN);
  EXPECT_EQ(lk_f64_to_i64(NAN), INT64_MIN);
  EXPECT_EQ(lk_f64_to_i32(0x1p31 - 0.5), INT32_MAX);
  EXPECT_EQ(lk_f64_to_i32(-0x1p31 - 0.5), INT32_MIN);
  EXPECT_EQ(lk_f64_to_i32(INF), INT32_MIN);
}

TEST(Number, NegativeValuesWrapAround) {
  EXPECT_EQ(lk_f64_to_u64(0x1p63), UINT64_C(1) << 63);
  EXPECT_EQ(lk_f64_to_u64(-1), UINT64_MAX);
}

} // namespace
