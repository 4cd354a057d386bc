// Elements held between bounds: in the order that the kernel promises, and by many threads.
#include <cmath>
#include <limits>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/kernel/clip.h"
}

namespace {

constexpr float INF = std::numeric_limits<float>::infinity();

template <typename T> std::vector<T> clip(uint32_t dtype, std::vector<T> x, float low, float high) {
  const lk_clip params = lk_clip_make(dtype, static_cast<int64_t>(x.size()), low, high);
  void *const pointers[] = {x.data(), x.data()};
  LK_EXPECT_OK(lk_clip_kernel(&params, pointers, LK_ERR));
  return x;
}

TEST(ClipKernel, HoldsFloatsWithinFiniteBounds) {
  constexpr double LARGEST = std::numeric_limits<double>::max();
  EXPECT_EQ(clip<double>(LK_F64, {-INF, -2, 0, 2, INF}, -1, 1),
            (std::vector<double>{-1, -1, 0, 1, 1}));
  EXPECT_EQ(clip<double>(LK_F64, {-INF, 0, INF}, -INF, INF),
            (std::vector<double>{-LARGEST, 0, LARGEST}));
  EXPECT_TRUE(std::isnan(clip<double>(LK_F64, {NAN}, -1, 1)[0]));
}

TEST(ClipKernel, LeavesIntegersWithoutBoundsAlone) {
  const std::vector<uint64_t> unsigned_ones = {0, 1, UINT64_MAX};
  const std::vector<int8_t> small = {INT8_MIN, 0, INT8_MAX};
  EXPECT_EQ(clip(LK_U64, unsigned_ones, -INF, INF), unsigned_ones);
  EXPECT_EQ(clip(LK_I8, small, 0, 0), small);
}

TEST(ClipKernel, HighWinsOverLow) {
  std::vector<int32_t> x(100000), y(x.size());
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<int32_t>(i);
  int32_t low = 500, high = 300;
  lk_clip params = lk_clip_make(LK_I32, static_cast<int64_t>(x.size()), 0, 0);
  params.high_at = 2;
  params.low_at = 3;
  void *const pointers[] = {x.data(), y.data(), &high, &low};
  LK_ASSERT_OK(lk_clip_kernel(&params, pointers, LK_ERR));
  EXPECT_EQ(y, std::vector<int32_t>(x.size(), 300));
}

} // namespace
