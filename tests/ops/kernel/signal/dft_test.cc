// What discrete Fourier transforms cost, and long ones beside sums; tests/rows compares the
// operators with other implementations.
#include <cmath>
#include <complex>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/kernel/signal/dft.h"
}

namespace {

double operations(int64_t length, int64_t outer = 1, int64_t middle = 1, int64_t inner = 1) {
  lk_dft dft = {};
  dft.length = length;
  dft.outer = outer;
  dft.middle = middle;
  dft.inner = inner;
  lk_dft_plan(&dft);
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

// Two transforms of the padded length for a line, whose sums are those of a power of two.
TEST(Dft, OfALargePrimeCostsAConvolution) {
  EXPECT_EQ(operations(509), 2 * operations(1024));
  EXPECT_EQ(operations(3 * 1009), 2 * operations(8192));
  EXPECT_EQ(operations(47), 8.0 * 47 * 47);
}

// Every number of a transform of `x`, by its definition.
std::vector<std::complex<double>> sums_of(const std::vector<std::complex<double>> &x, double sign) {
  const size_t n = x.size();
  std::vector<std::complex<long double>> roots(n);
  for (size_t k = 0; k < n; k++) {
    roots[k] = std::polar(1.0L, sign * 2 * std::acos(-1.0L) * (long double)(k) / (long double)(n));
  }
  std::vector<std::complex<double>> out(n);
  for (size_t k = 0; k < n; k++) {
    std::complex<long double> sum = 0;
    for (size_t j = 0; j < n; j++) sum += std::complex<long double>(x[j]) * roots[j * k % n];
    out[k] = std::complex<double>(sum / (sign > 0 ? (long double)(n) : 1.0L));
  }
  return out;
}

// Lengths with factors on either side of the limit, so that some are transforms by their factors
// and others convolutions.
TEST(Dft, NumbersAreSums) {
  for (const int64_t length :
       {1, 2, 3, 12, 47, 53, 60, 94, 101, 106, 127, 159, 251, 509, 53 * 11, 53 * 53, 1021, 2048}) {
    for (const bool is_inverse : {false, true}) {
      const int64_t lines = 3;
      lk_dft dft = {};
      dft.outer = lines;
      dft.middle = dft.inner = 1;
      dft.length = dft.given = dft.wanted = length;
      dft.from = dft.to = {2 * length, 0, 0, 2};
      dft.is_complex = dft.is_f64 = true;
      dft.is_inverse = is_inverse;
      lk_dft_plan(&dft);
      std::vector<std::complex<double>> from(size_t(lines * length)), to(from.size());
      for (size_t i = 0; i < from.size(); i++) {
        from[i] = {std::sin(1.7 * double(i * i)), std::cos(0.9 * double(i))};
      }
      std::vector<double> scratch(size_t(lk_dft_scratch_size(&dft)), NAN);
      void *const pointers[] = {from.data(), to.data(), scratch.data()};
      LK_ASSERT_OK(lk_dft_kernel(&dft, pointers, LK_ERR));
      for (int64_t line = 0; line < lines; line++) {
        const auto begin = from.begin() + line * length;
        const auto expected = sums_of({begin, begin + length}, is_inverse ? 1 : -1);
        const double size = std::sqrt(double(length)) / (is_inverse ? double(length) : 1);
        for (int64_t k = 0; k < length; k++) {
          ASSERT_LE(std::abs(to[size_t(line * length + k)] - expected[size_t(k)]), 4e-14 * size)
              << "number " << k << " of " << length;
        }
      }
    }
  }
}

} // namespace
