// Norms against plain loops in double, on every instruction set.
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "base/team/team.h"
#include "ops/kernel/reduce/norm.h"
}

namespace {

using lk::Guarded;

struct Case {
  int64_t rows, n, inner = 1, period = 1;
  bool is_centered = true, has_scale = true, has_bias = true, has_results = true;
  float first = 0; // what the first element of each row has beside the others
};

void check(const Case &test, float shift, double allowed) {
  std::mt19937 random(7);
  const size_t elements = size_t(test.rows * test.n), rows = size_t(test.rows);
  const size_t scales = size_t(test.period * (test.n / test.inner));
  Guarded x = lk::random_floats(elements, random);
  for (size_t i = 0; i < elements; i++) x[i] += shift;
  for (size_t r = 0; r < rows; r++) x[r * size_t(test.n)] += test.first;
  const Guarded scale = lk::random_floats(scales, random), bias = lk::random_floats(scales, random);
  for (lk_isa isa : lk::instruction_sets()) {
    SCOPED_TRACE(isa);
    Guarded y(elements), means(rows), factors(rows);
    const lk_norm step = {lk_row_loops_get(isa)->norm_row,
                          test.rows,
                          test.n,
                          test.inner,
                          test.period,
                          1e-5,
                          test.is_centered,
                          test.has_scale,
                          test.has_bias,
                          test.has_results,
                          test.has_results};
    std::vector<void *> pointers = {x.get(), y.get()};
    if (test.has_scale) pointers.push_back(const_cast<float *>(scale.get()));
    if (test.has_bias) pointers.push_back(const_cast<float *>(bias.get()));
    if (test.has_results) pointers.push_back(means.get());
    if (test.has_results) pointers.push_back(factors.get());
    ASSERT_EQ(lk_norm_kernel(&step, pointers.data(), nullptr), LK_OK);
    y.check();
    for (size_t r = 0; r < rows; r++) {
      double mean = 0, variance = 0;
      const size_t first = r * size_t(test.n);
      for (int64_t i = 0; i < test.n; i++) mean += double(x[first + size_t(i)]);
      mean = test.is_centered ? mean / double(test.n) : 0;
      for (int64_t i = 0; i < test.n; i++) {
        variance += std::pow(double(x[first + size_t(i)]) - mean, 2);
      }
      const double factor = 1 / std::sqrt(variance / double(test.n) + 1e-5);
      for (int64_t i = 0; i < test.n; i++) {
        const size_t at =
            r % size_t(test.period) * size_t(test.n / test.inner) + size_t(i / test.inner);
        double wanted = (double(x[first + size_t(i)]) - mean) * factor;
        if (test.has_scale) wanted *= double(scale[at]);
        if (test.has_bias) wanted += double(bias[at]);
        ASSERT_NEAR(double(y[first + size_t(i)]), wanted, allowed * (1 + std::fabs(wanted)))
            << "row " << r << ", element " << i;
      }
      if (!test.has_results) continue;
      EXPECT_NEAR(double(means[r]), mean, 1e-6 * (1 + std::fabs(mean)));
      EXPECT_NEAR(double(factors[r]), factor, 1e-5 * factor);
    }
  }
}

TEST(Norm, TakesAnyLength) {
  for (int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 33, 100, 768, 1025, 5000}) {
    check({n < 100 ? 19 : 3, n}, 0, 4e-6);
    check({3, n, 1, 3}, 0, 4e-6);
    check({5, n, n, 5}, 0, 4e-6); // of channels
    check({4, n, 1, 1, false, true, false}, 0, 4e-6);
    check({4, n, 1, 1, true, false, false, false}, 0, 4e-6);
  }
  for (int64_t plane : {1, 5, 16, 49, 1000}) check({6, 4 * plane, plane, 3}, 0, 4e-6);
}

// What is far from 0 loses what the mean takes, and no more.
TEST(Norm, StaysExactFarFromZero) {
  check({3, 768}, 100, 4e-5);
  check({3, 49 * 8, 49, 3}, 100, 4e-5);
}

// The first element stands for the mean at first.
TEST(Norm, TakesAFirstElementThatLiesFarFromTheOthers) {
  for (int64_t n : {2, 7, 16, 17, 32, 33, 100, 768, 5000}) {
    for (float first : {3.f, -20.f, 1e3f, 1e6f}) {
      Case test{4, n};
      test.first = first;
      check(test, 0, 4e-6);
      test.inner = n;
      test.period = 2;
      check(test, 0, 4e-6);
      test.has_scale = test.has_bias = false;
      check(test, 100, first < 100 ? 4e-5 : 1e-5);
    }
  }
}

// A difference is infinite, and the mean is not.
TEST(Norm, OfTheLargestNumbersIsTheirMean) {
  for (int64_t n : {2, 8, 16, 30, 34, 200}) {
    for (lk_isa isa : lk::instruction_sets()) {
      Guarded x(size_t(2 * n)), y(size_t(2 * n));
      for (int64_t i = 0; i < 2 * n; i++) {
        x[size_t(i)] = i % n == 0 ? 3e38f : i % n == 1 ? -3e38f : 1;
      }
      lk_norm step{};
      step.row = lk_row_loops_get(isa)->norm_row;
      step.rows = 2;
      step.n = n;
      step.inner = step.period = 1;
      step.epsilon = 1e-5;
      step.is_centered = true;
      void *const pointers[] = {x.get(), y.get()};
      ASSERT_EQ(lk_norm_kernel(&step, pointers, nullptr), LK_OK);
      for (int64_t i = 0; i < 2 * n; i++) EXPECT_EQ(y[size_t(i)], 0) << n << ", " << isa;
    }
  }
}

TEST(Norm, IsTheSameForAnyNumberOfThreads) {
  std::mt19937 random(3);
  const Guarded x = lk::random_floats(64 * 1024, random);
  std::vector<float> first;
  for (int threads : {1, 2, 8}) {
    Guarded y(x.size());
    const lk_norm step = {lk_row_loops_get(lk_isa_get())->norm_row,
                          64,
                          1024,
                          1,
                          1,
                          1e-5,
                          true,
                          false,
                          false,
                          false,
                          false};
    void *const pointers[] = {const_cast<float *>(x.get()), y.get()};
    const int host = lk_team_begin(threads);
    EXPECT_EQ(lk_norm_kernel(&step, pointers, nullptr), LK_OK);
    lk_team_end(host);
    const std::vector<float> result(y.get(), y.get() + y.size());
    if (first.empty()) first = result;
    EXPECT_EQ(result, first);
  }
}

// What is left of a row that is one number is 0, not a last bit of its mean times 316.
TEST(Norm, LeavesNothingOfRowsOfOneNumber) {
  std::mt19937 random(8);
  for (int round = 0; round < lk::repeats(300); round++) {
    const int64_t n = 1 + int64_t(random() % 9000);
    const float number = std::uniform_real_distribution<float>(-50, 50)(random);
    Guarded x(static_cast<size_t>(n)), y(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; i++) x[size_t(i)] = number;
    for (lk_isa isa : lk::instruction_sets()) {
      const lk_norm step = {
          lk_row_loops_get(isa)->norm_row, 1, n, 1, 1, 1e-5, true, false, false, false, false};
      void *pointers[] = {x.get(), y.get()};
      ASSERT_EQ(lk_norm_kernel(&step, pointers, nullptr), LK_OK);
      for (int64_t i = 0; i < n; i++) {
        ASSERT_EQ(y[size_t(i)], 0) << n << " of " << number << ", isa " << isa;
      }
    }
  }
}

} // namespace
