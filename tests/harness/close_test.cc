// What compares numbers in tests finds what is wrong, and says where.
#include "tests/harness/close.h"

#include <gmock/gmock.h>

namespace {

using lk::all_close;
using lk::floats;
using lk::tensor;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string complaint(const lk::Value &right, const lk::Value &found,
                      const lk::Within &within = {}) {
  const ::testing::AssertionResult result = all_close(right, found, within);
  return result ? "" : result.message();
}
std::string complaint(float right, float found) {
  return complaint(floats({1}, {right}), floats({1}, {found}));
}

TEST(Close, TakesWhatIsWithinTheBound) {
  EXPECT_EQ(complaint(floats({2}, {1000, 0}), floats({2}, {1000.009F, 0.9e-6F})), "");
  EXPECT_NE(complaint(floats({2}, {1000, 0}), floats({2}, {1000.02F, 0})), "");
  EXPECT_NE(complaint(floats({2}, {1000, 0}), floats({2}, {1000, 1.1e-6F})), "");
  EXPECT_EQ(complaint(floats({1}, {2}), floats({1}, {2.5F}), {0.25, 0}), "");
  EXPECT_NE(complaint(floats({1}, {2}), floats({1}, {2.6F}), {0.25, 0}), "");
  EXPECT_EQ(complaint(floats({0, 3}, {}), floats({0, 3}, {})), "");
  EXPECT_EQ(complaint(floats({}, {-0.0F}), floats({}, {0.0F}), lk::EXACTLY), "");
}

// The bound is the element's own.
TEST(Close, FindsASmallElementBesideALargeOne) {
  const auto found =
      complaint(floats({2, 2}, {1e6F, 1, 1, 1}), floats({2, 2}, {1e6F, 1, 1.01F, 2}));
  EXPECT_THAT(found, HasSubstr("element [1, 0] is 1.00999"));
  EXPECT_THAT(found, HasSubstr("expected 1 within 1.1"));
  EXPECT_THAT(found, HasSubstr("2 of 4 are wrong"));
}

TEST(Close, TakesNaNWhereNaNIsExpectedOnly) {
  EXPECT_EQ(complaint(kNaN, kNaN), "");
  EXPECT_NE(complaint(1, kNaN), "");
  EXPECT_NE(complaint(kNaN, 1), "");
  EXPECT_NE(complaint(kInfinity, kNaN), "");
  const double nan = std::nan("");
  EXPECT_FALSE(all_close(tensor<double>({1}, {1}), tensor<double>({1}, {nan})));
  const lk::Within wide = {kInfinity, kInfinity};
  EXPECT_NE(complaint(floats({1}, {1}), floats({1}, {kNaN}), wide), "");
}

TEST(Close, TakesAnInfinityWhereThatOneIsExpectedOnly) {
  EXPECT_EQ(complaint(kInfinity, kInfinity), "");
  EXPECT_EQ(complaint(-kInfinity, -kInfinity), "");
  EXPECT_NE(complaint(kInfinity, -kInfinity), "");
  EXPECT_NE(complaint(kInfinity, 3e38F), "");
  EXPECT_NE(complaint(3e38F, kInfinity), "");
}

TEST(Close, TakesNoOtherShapeOrType) {
  EXPECT_THAT(complaint(floats({2, 1}, {1, 2}), floats({1, 2}, {1, 2})),
              HasSubstr("expected type"));
  EXPECT_NE(complaint(floats({1}, {1}), floats({}, {1})), "");
  EXPECT_NE(complaint(floats({1}, {1}), tensor<double>({1}, {1})), "");
  EXPECT_FALSE(all_close(std::vector<float>{1, 2}, std::vector<float>{1}));
  EXPECT_FALSE(all_close(std::vector<float>{1}, std::vector<float>{1, 2}));
}

TEST(Close, TakesOtherTypesBitByBit) {
  EXPECT_EQ(complaint(lk::ints({1, 2}), lk::ints({1, 2}), {1, 1}), "");
  const auto found = complaint(lk::ints({1, 2, 3}), lk::ints({1, -2, 4}), {1, 1});
  EXPECT_THAT(found, HasSubstr("element [1] is 0xfffffffffffffffe, expected 0x0000000000000002"));
  EXPECT_THAT(found, HasSubstr("2 of 3 are wrong"));
  const auto half = [](uint16_t bits) {
    lk::Value value;
    value.desc = lk::desc_of(LK_F16, {1});
    value.bytes = {uint8_t(bits), uint8_t(bits >> 8)};
    return value;
  };
  EXPECT_EQ(complaint(half(0x7e00), half(0xfe01)), "") << "any NaN is any other";
  EXPECT_NE(complaint(half(0x7c00), half(0x7e00)), "") << "an infinity is none";
  EXPECT_NE(complaint(half(0x3c00), half(0x3c01)), "");
}

} // namespace
