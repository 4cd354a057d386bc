// What discrete Fourier transforms cost. tests/rows compares their numbers with other
// implementations.
#include <gtest/gtest.h>

extern "C" {
#include "ops/kernel/dft.h"
}

namespace {

double operations(int64_t length, int64_t outer = 1, int64_t middle = 1, int64_t inner = 1) {
  lk_dft dft = {};
  dft.length = length;
  dft.outer = outer;
  dft.middle = middle;
  dft.inner = inner;
  return lk_dft_operations(&dft);
}

// For each number a product and an addition of complex numbers, for each unit of a factor.
TEST(Dft, CostsTheSumOfItsFactorsForEachNumber) {
  EXPECT_EQ(operations(1), 0);
  EXPECT_EQ(operations(7), 8.0 * 7 * 7);
  EXPECT_EQ(operations(2 * 3 * 5), 8.0 * (2 + 3 + 5) * 30);
  EXPECT_EQ(operations(4 * 4 * 2), 8.0 * (4 + 4 + 2) * 32);
}

TEST(Dft, CostsTheSameForEachLine) {
  for (const int64_t length : {2, 8, 30, 101}) {
    EXPECT_EQ(operations(length, 3, 5, 7), 3.0 * 5 * 7 * operations(length));
    EXPECT_EQ(operations(length, 3, 0, 7), 0);
  }
}

} // namespace
