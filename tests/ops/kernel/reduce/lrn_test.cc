// Local response normalization against plain loops in double, on every instruction set.
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "ops/kernel/reduce/lrn.h"
}

namespace {

using lk::Guarded;

struct Case {
  int64_t outer, channels, inner, size;
  float alpha = 0.5F, beta = 0.75F, bias = 2;

  size_t elements() const { return size_t(outer * channels * inner); }
  Guarded run(const Guarded &x, lk_isa isa) const {
    lk_lrn step;
    lk_lrn_plan(outer, channels, inner, size, alpha, beta, bias, isa, &step);
    Guarded y(x.size());
    void *const pointers[] = {const_cast<float *>(x.get()), y.get()};
    EXPECT_EQ(lk_lrn_kernel(&step, pointers, nullptr), LK_OK);
    y.check();
    return y;
  }
  double expected(const Guarded &x, size_t i) const {
    const int64_t channel = int64_t(i) / inner % channels;
    double squares = 0;
    for (int64_t k = channel - (size - 1) / 2; k <= channel + size / 2; k++) {
      if (k < 0 || k >= channels) continue;
      const double value = double(x[size_t(int64_t(i) + (k - channel) * inner)]);
      squares += value * value;
    }
    return double(x[i]) /
           std::pow(double(bias) + double(alpha) / double(size) * squares, double(beta));
  }
};

TEST(Lrn, TakesAnyChannelsAndWindows) {
  std::mt19937 random(1);
  for (int64_t inner : {1, 3, 16, 100}) {
    for (int64_t channels : {1, 2, 5, 15, 16, 17, 40, 96, 131}) {
      for (int64_t size : {1, 2, 3, 5, 9, 40, 1000}) {
        for (float beta : {0.75F, 0.5F, 1.0F, 0.6F, -2.0F}) {
          Case test = {2, channels, inner, size};
          test.beta = beta;
          const Guarded x = lk::random_floats(test.elements(), random);
          std::vector<double> wanted(test.elements());
          for (size_t i = 0; i < wanted.size(); i++) wanted[i] = test.expected(x, i);
          for (lk_isa isa : lk::instruction_sets()) {
            const Guarded y = test.run(x, isa);
            for (size_t i = 0; i < y.size(); i++) {
              ASSERT_NEAR(double(y[i]), wanted[i], 2e-6 * std::fabs(wanted[i]))
                  << channels << " channels, " << inner << " places, size " << size << ", beta "
                  << beta << " isa " << isa << " at " << i;
            }
          }
        }
      }
    }
  }
}

// Both layouts have the same bits, however the work is shared.
// The sum over a window has parts, from more channels than these on.
TEST(Lrn, TakesWindowsInParts) {
  const Case test = {1, 33500, 1, 67001};
  Guarded x(test.elements());
  for (size_t i = 0; i < x.size(); i++) x[i] = float(i % 7) / 7;
  for (lk_isa isa : lk::instruction_sets()) {
    const Guarded y = test.run(x, isa);
    for (size_t i = 5; i < y.size(); i += 11111) {
      EXPECT_NEAR(double(y[i]), test.expected(x, i), 1e-4) << "isa " << isa;
    }
  }
}

TEST(Lrn, DependsOnNothingElseNorOnThreads) {
  std::mt19937 random(2);
  const Case columns = {3, 50, 600, 5}, rows = {1800, 50, 1, 5};
  const Guarded x = lk::random_floats(columns.elements(), random);
  const auto turned = [](const Guarded &from) { // of each image [50][600] to [600][50]
    Guarded to(from.size());
    for (size_t i = 0; i < from.size(); i++) {
      to[i / 30000 * 30000 + i % 600 * 50 + i / 600 % 50] = from[i];
    }
    return to;
  };
  for (lk_isa isa : lk::instruction_sets()) {
    const Guarded y = columns.run(x, isa);
    EXPECT_TRUE(rows.run(turned(x), isa).has_bits_of(turned(y)));
    lk::with_threads(3, [&] {
      EXPECT_TRUE(columns.run(x, isa).has_bits_of(y));
      EXPECT_TRUE(rows.run(turned(x), isa).has_bits_of(turned(y)));
    });
  }
}

TEST(Lrn, HasIeeesSpecialNumbers) {
  for (int64_t inner : {1, 4}) {
    const Case test = {1, 40, inner, 3};
    Guarded x(test.elements());
    for (size_t i = 0; i < x.size(); i++) x[i] = 1;
    for (int64_t k = 0; k < inner; k++) {
      x[size_t(10 * inner + k)] = NAN;
      x[size_t(20 * inner + k)] = INFINITY;
    }
    for (lk_isa isa : lk::instruction_sets()) {
      const Guarded y = test.run(x, isa);
      const auto at = [&](int64_t channel) { return y[size_t(channel * inner)]; };
      for (int64_t channel : {9, 10, 11, 20}) EXPECT_TRUE(std::isnan(at(channel))) << channel;
      EXPECT_EQ(at(19), 0);
      EXPECT_EQ(at(21), 0);
      EXPECT_NEAR(double(at(30)), std::pow(2.5, -0.75), 1e-6);
    }
  }
}

} // namespace
