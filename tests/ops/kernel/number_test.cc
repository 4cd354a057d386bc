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

TEST(Number, EveryHalfIsItsFractionTimesAPowerOfTwo) {
  for (uint32_t i = 0; i <= 0xffff; i++) {
    const uint32_t exponent = i >> 10 & 31, fraction = i & 1023;
    const int sign = i > INT16_MAX ? -1 : 1;
    const float value = lk_f16_to_f32(static_cast<uint16_t>(i));
    ASSERT_EQ(std::signbit(value), sign < 0) << i;
    if (exponent == 31) {
      ASSERT_TRUE(fraction != 0 ? std::isnan(value) : std::isinf(value)) << i;
    } else {
      const double size = exponent == 0 ? fraction : std::ldexp(fraction + 1024, int(exponent) - 1);
      ASSERT_EQ(value, sign * std::ldexp(size, -24)) << i;
    }
  }
}

TEST(Number, FloatsBecomeHalvesAsDoublesDo) {
  for (uint64_t i = 0; i <= UINT32_MAX; i += 1021) {
    const auto bits = static_cast<uint32_t>(i);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    ASSERT_EQ(lk_f32_to_f16(value), lk_f64_to_f16(value)) << bits;
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
    const auto half = static_cast<float>(middle); /* which is exact */
    ASSERT_EQ(lk_f32_to_f16(std::nextafter(half, 0.0F)), bits) << bits;
    ASSERT_EQ(lk_f32_to_f16(std::nextafter(half, 1e9F)), bits + 1) << bits;
    ASSERT_EQ(lk_f32_to_f16(half), bits + (bits & 1)) << bits;
  }
  for (uint16_t bits = 0; bits < 0x7f7f; bits++) {
    const double low = lk_bf16_to_f64(bits), high = lk_bf16_to_f64(bits + 1),
                 middle = (low + high) / 2;
    ASSERT_EQ(lk_f64_to_bf16(std::nextafter(middle, low)), bits) << bits;
    ASSERT_EQ(lk_f64_to_bf16(std::nextafter(middle, high)), bits + 1) << bits;
    ASSERT_EQ(lk_f64_to_bf16(-middle), 0x8000 + bits + (bits & 1)) << bits;
  }
}

TEST(Number, BeyondTheLargestIsInfinity) {
  EXPECT_EQ(lk_f64_to_f16(65519.99), 0x7bff);
  EXPECT_EQ(lk_f64_to_f16(65520), 0x7c00);
  EXPECT_EQ(lk_f64_to_f16(-INF), 0xfc00);
  EXPECT_EQ(lk_f32_to_f16(65519.99F), 0x7bff);
  EXPECT_EQ(lk_f32_to_f16(65520), 0x7c00);
  EXPECT_EQ(lk_f32_to_f16(1e38F), 0x7c00);
  EXPECT_EQ(lk_f64_to_bf16(1e300), 0x7f80);
  EXPECT_EQ(lk_f64_to_bf16(-INF), 0xff80);
  EXPECT_EQ(lk_f64_to_bf16(-std::numeric_limits<double>::quiet_NaN()), 0xffc0);
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
