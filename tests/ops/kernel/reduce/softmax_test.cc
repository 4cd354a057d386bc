// Softmax and its logarithm against plain loops in double, on every instruction set.
#include "tests/ops/kernel/product/product.h"

#include <algorithm>
#include <cfenv>
#include <limits>

extern "C" {
#include "ops/kernel/reduce/softmax.h"
}

namespace {

using lk::Guarded;

// What is less than this part of the largest is 0.
constexpr double kLeastShare = 0x1p-126;

struct Case {
  int64_t outer = 1, n = 1, inner = 1;
  bool is_last = true, is_log = false;

  size_t elements() const { return size_t(outer * n * inner); }
  void run_on(float *from, float *to, lk_isa isa) const {
    const lk_softmax step = {lk_row_loops_get(isa), outer, n, inner, is_last, is_log, false};
    void *const pointers[] = {from, to};
    EXPECT_EQ(lk_softmax_kernel(&step, pointers, nullptr), LK_OK);
  }
  Guarded run(const Guarded &x, lk_isa isa) const {
    Guarded y(x.size());
    run_on(const_cast<float *>(x.get()), y.get(), isa);
    y.check();
    return y;
  }
  std::vector<double> expected(const Guarded &x) const {
    std::vector<double> y(elements());
    for (int64_t i = 0; i < outer * inner; i++) {
      const int64_t first = i / inner * n * inner + i % inner;
      double largest = -double(INFINITY), sum = 0;
      const auto at = [&](int64_t k) { return size_t(first + k * inner); };
      for (int64_t k = 0; k < n; k++) largest = std::max(largest, double(x[at(k)]));
      for (int64_t k = 0; k < n; k++) sum += std::exp(double(x[at(k)]) - largest);
      for (int64_t k = 0; k < n; k++) {
        const double shifted = double(x[at(k)]) - largest;
        y[at(k)] = is_log ? shifted - std::log(sum) : std::exp(shifted) / sum;
      }
    }
    return y;
  }
  std::string text() const {
    return std::to_string(outer) + "x" + std::to_string(n) + "x" + std::to_string(inner) +
           (is_log ? " log" : "") + (is_last ? " last" : "");
  }
};

// Of numbers up to `size`: the exponent is rounded to its last bit, which the power multiplies.
void check(const Case &test, const Guarded &x, double size) {
  const std::vector<double> wanted = test.expected(x);
  for (lk_isa isa : lk::instruction_sets()) {
    const Guarded y = test.run(x, isa);
    for (size_t i = 0; i < wanted.size(); i++) {
      const double allowed = test.is_log ? 4e-7 * (1 + std::fabs(wanted[i]))
                                         : (6e-7 + 1.2e-7 * size) * wanted[i] + kLeastShare;
      ASSERT_NEAR(double(y[i]), wanted[i], allowed) << test.text() << " isa " << isa << " at " << i;
    }
  }
}

TEST(Softmax, TakesAnyLength) {
  std::mt19937 random(1);
  const auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  std::vector<Case> cases;
  for (int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 1000, 2049, 6625, 100000}) {
    cases.push_back({n < 100 ? 37 : 2, n, 1});
    cases.push_back({2, n, 1, false});
  }
  for (int i = 0; i < 100; i++) {
    cases.push_back({number(1, 20), number(1, 150), number(1, 90), false});
  }
  for (Case test : cases) {
    for (bool is_log : {false, true}) {
      test.is_log = is_log;
      Guarded x = lk::random_floats(test.elements(), random);
      for (size_t i = 0; i < x.size(); i++) x[i] *= 9;
      check(test, x, 18);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Softmax, WritesOverItsInput) {
  std::mt19937 random(2);
  for (const Case &test :
       {Case{5, 7}, Case{3, 70}, Case{3, 2100}, Case{2, 30, 70, false}, Case{1, 70, 1, false}}) {
    for (bool is_log : {false, true}) {
      Case one = test;
      one.is_log = is_log;
      const Guarded x = lk::random_floats(test.elements(), random);
      for (lk_isa isa : lk::instruction_sets()) {
        Guarded y = x;
        one.run_on(y.get(), y.get(), isa);
        EXPECT_TRUE(y.has_bits_of(one.run(x, isa))) << one.text();
      }
    }
  }
}

// A row has the same bits whatever is beside it, and however the work is shared.
TEST(Softmax, DependsOnNothingElseNorOnThreads) {
  std::mt19937 random(3);
  for (Case test : {Case{200, 300}, Case{900, 13}, Case{40, 33}, Case{3, 300, 200, false}}) {
    const Guarded x = lk::random_floats(test.elements(), random);
    for (lk_isa isa : lk::instruction_sets()) {
      const Guarded y = test.run(x, isa);
      lk::with_threads(3, [&] { EXPECT_TRUE(test.run(x, isa).has_bits_of(y)) << test.text(); });
      Case one = test;
      one.outer = one.inner = 1;
      for (int64_t i : {int64_t(0), test.inner / 3, test.outer * test.inner - 1}) {
        const int64_t first = i / test.inner * test.n * test.inner + i % test.inner;
        Guarded part(size_t(test.n));
        for (size_t k = 0; k < part.size(); k++) {
          part[k] = x[size_t(first) + k * size_t(test.inner)];
        }
        const Guarded row = one.run(part, isa);
        for (size_t k = 0; k < row.size(); k++) {
          ASSERT_EQ(row[k], y[size_t(first) + k * size_t(test.inner)]) << test.text();
        }
      }
    }
  }
}

TEST(Softmax, HasIeeesSpecialNumbers) {
  for (int64_t n : {3, 40}) {
    for (bool is_last : {true, false}) {
      const Case test = {4, n, 1, is_last};
      Guarded x(test.elements());
      for (size_t i = 0; i < x.size(); i++) x[i] = 1;
      const auto row = size_t(n);
      x[1] = NAN;
      x[row + 1] = INFINITY;
      x[2 * row + 1] = -INFINITY; // has no share
      for (size_t i = 0; i < row; i++) x[3 * row + i] = -INFINITY;
      for (lk_isa isa : lk::instruction_sets()) {
        const Guarded y = test.run(x, isa);
        for (size_t i = 0; i < row; i++) {
          EXPECT_TRUE(std::isnan(y[i]) && std::isnan(y[row + i]) && std::isnan(y[3 * row + i]));
          EXPECT_NEAR(double(y[2 * row + i]), i == 1 ? 0 : 1.0 / double(n - 1), 1e-7);
        }
      }
    }
  }
}

TEST(Softmax, NeitherOverflowsNorLosesSmallShares) {
  const Case test = {1, 4};
  Guarded x(4);
  x[0] = x[1] = 1e30F;
  x[2] = -1e30F;
  x[3] = 0;
  for (lk_isa isa : lk::instruction_sets()) {
    const Guarded y = test.run(x, isa);
    EXPECT_EQ(y[0], 0.5F);
    EXPECT_EQ(y[1], 0.5F);
    EXPECT_EQ(y[2], 0);
    EXPECT_EQ(y[3], 0);
  }
  x[0] = 0;
  x[1] = -87; // about the least normal number
  x[2] = x[3] = -1e30F;
  for (lk_isa isa : lk::instruction_sets()) {
    EXPECT_NEAR(double(test.run(x, isa)[1]), std::exp(-87.0), 1e-5 * std::exp(-87.0));
  }
}

// An instruction that makes a denormal number, or rounds it to 0, takes a hundred times as long.
TEST(Softmax, MakesNoDenormalNumberOfWhatIsMasked) {
  for (const Case &test : {Case{3, 70}, Case{30, 9}, Case{3, 40, 70, false}}) {
    Guarded x(test.elements());
    for (float masked : {-88.0F, -95.0F, -104.0F, -1e4F, -std::numeric_limits<float>::max()}) {
      for (size_t i = 0; i < x.size(); i++) {
        const size_t k = i / size_t(test.inner) % size_t(test.n);
        x[i] = k % 3 == 1 ? masked : 1 / float(k + 1);
      }
      for (lk_isa isa : lk::instruction_sets()) {
        std::feclearexcept(FE_ALL_EXCEPT);
        const Guarded y = test.run(x, isa);
        EXPECT_EQ(std::fetestexcept(FE_UNDERFLOW), 0) << test.text() << " isa " << isa;
        for (size_t i = 0; i < y.size(); i++) ASSERT_TRUE(y[i] == 0 || y[i] > 1e-4F) << y[i];
      }
    }
  }
}

// Rows of f64, over their input too; a row has the same bits alone.
TEST(Softmax, TakesRowsOfF64) {
  std::mt19937 random(4);
  std::normal_distribution<double> number(0, 9);
  for (int64_t n : {1, 2, 3, 7, 8, 9, 16, 17, 63, 64, 100, 4096}) {
    for (bool is_log : {false, true}) {
      const int64_t rows = n < 100 ? 5000 / n : 3;
      std::vector<double> x(size_t(rows * n));
      for (double &value : x) value = number(random);
      for (lk_isa isa : lk::instruction_sets()) {
        const auto run = [&](std::vector<double> &data, int64_t first, int64_t count) {
          const lk_softmax step = {lk_row_loops_get(isa), count, n, 1, true, is_log, true};
          void *const pointers[] = {&data[size_t(first * n)], &data[size_t(first * n)]};
          EXPECT_EQ(lk_softmax_kernel(&step, pointers, nullptr), LK_OK);
        };
        std::vector<double> y = x, alone = x;
        run(y, 0, rows);
        run(alone, rows - 1, 1);
        ASSERT_TRUE(std::equal(y.end() - n, y.end(), alone.end() - n)) << n << " isa " << isa;
        for (int64_t r = 0; r < rows; r++) {
          const double *row = &x[size_t(r * n)], largest = *std::max_element(row, row + n);
          double sum = 0;
          for (int64_t i = 0; i < n; i++) sum += std::exp(row[i] - largest);
          for (int64_t i = 0; i < n; i++) {
            const double shifted = row[i] - largest, found = y[size_t(r * n + i)];
            const double wanted = is_log ? shifted - std::log(sum) : std::exp(shifted) / sum;
            ASSERT_NEAR(found, wanted, 2e-14 * (std::fabs(wanted) + (is_log ? 1 : 0))) << n;
          }
        }
      }
    }
  }
}

} // namespace
