// Sums and maxima over random dimensions against plain loops in double, on every instruction set.
#include "tests/ops/kernel/product.h"

extern "C" {
#include "base/tensor.h"
#include "ops/kernel/reduce.h"
#include "ops/kernel/strides.h"
}

namespace {

using lk::Guarded;

struct Case {
  lk_tensor_desc from = {};
  uint32_t mask = 0;
  lk_reduce_kind kind = LK_REDUCE_SUM;
  lk_layout to_layout = LK_LAYOUT_PLAIN;
  double factor = 1;

  lk_tensor_desc to() const {
    lk_tensor_desc desc = from;
    for (uint32_t i = 0; i < desc.rank; i++) {
      if ((mask >> i & 1) != 0) desc.dims[i] = 1;
    }
    desc.layout = to_layout;
    return desc;
  }
  Guarded run(const Guarded &x, lk_isa isa) const {
    const lk_tensor_desc desc = to();
    Guarded y(size_t(lk_elements(&desc)));
    int64_t strides[LK_MAX_RANK];
    lk_strides(&desc, 1, strides);
    lk_reduce step;
    lk_reduce_plan(&from, mask, strides, kind, factor, isa, &step);
    void *const pointers[] = {const_cast<float *>(x.get()), y.get()};
    EXPECT_EQ(lk_reduce_kernel(&step, pointers, nullptr), LK_OK);
    y.check();
    return y;
  }
  struct Wanted {
    double value, size; // of the absolute values
  };
  std::vector<Wanted> expected(const Guarded &x) const {
    const lk_tensor_desc desc = to();
    int64_t in[LK_MAX_RANK], out[LK_MAX_RANK];
    lk_strides(&from, 1, in);
    lk_strides(&desc, 1, out);
    const double start = kind == LK_REDUCE_SUM ? 0 : -double(INFINITY);
    std::vector<Wanted> y(size_t(lk_elements(&desc)), {start, 0});
    for (int64_t i = 0; i < lk_elements(&from); i++) {
      int64_t left = i, read = 0, write = 0;
      for (uint32_t d = from.rank; d-- > 0; left /= from.dims[d]) {
        read += left % from.dims[d] * in[d];
        if ((mask >> d & 1) == 0) write += left % from.dims[d] * out[d];
      }
      const double value = double(x[size_t(read)]);
      Wanted &to = y[size_t(write)];
      to.value = kind == LK_REDUCE_SUM ? to.value + value : value > to.value ? value : to.value;
      to.size += std::fabs(value);
    }
    return y;
  }
};

std::string describe(const Case &test) {
  char text[LK_TENSOR_TEXT_CAPACITY];
  return lk_tensor_text(&test.from, text) + std::string(" mask ") + std::to_string(test.mask);
}

void check(const Case &test, const Guarded &x) {
  const std::vector<Case::Wanted> wanted = test.expected(x);
  for (lk_isa isa : lk::instruction_sets()) {
    const Guarded y = test.run(x, isa);
    for (size_t i = 0; i < wanted.size(); i++) {
      const double value = wanted[i].value * test.factor;
      const double allowed =
          test.kind == LK_REDUCE_SUM
              ? 1e-7 * std::fabs(value) + 4e-6 * wanted[i].size * std::fabs(test.factor)
              : 0;
      ASSERT_NEAR(double(y[i]), value, allowed) << describe(test) << " isa " << isa << " at " << i;
    }
  }
}

TEST(Reduce, TakesAnyDimensionsAndLayouts) {
  std::mt19937 random(1);
  const auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int i = 0; i < 400; i++) {
    Case test;
    int64_t dims[LK_MAX_RANK];
    const auto rank = uint32_t(number(1, 5));
    for (uint32_t d = 0; d < rank; d++) {
      dims[d] = number(0, 9) == 0 ? number(1, 300) : number(1, rank > 3 ? 6 : 20);
    }
    test.from = lk_tensor_desc_make(LK_F32, rank, dims);
    const auto layout = [&] {
      return rank >= 3 && number(0, 1) == 1 ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
    };
    test.from.layout = layout();
    test.to_layout = layout();
    test.mask = uint32_t(number(1, (1 << rank) - 1));
    test.kind = number(0, 2) == 0 ? LK_REDUCE_LARGEST : LK_REDUCE_SUM;
    test.factor = test.kind == LK_REDUCE_SUM ? 0.25 : 1;
    check(test, lk::random_floats(size_t(lk_elements(&test.from)), random));
    if (HasFatalFailure()) return;
  }
}

// The error stays that of a short sum, along rows and down columns.
TEST(Reduce, IsAsExactForLongSums) {
  std::mt19937 random(2);
  for (bool down : {false, true}) {
    Case test;
    const int64_t dims[] = {down ? 200000 : 3, down ? 3 : 200000};
    test.from = lk_tensor_desc_make(LK_F32, 2, dims);
    test.mask = down ? 1 : 2;
    test.factor = 1.0 / 200000;
    Guarded x = lk::random_floats(600000, random);
    for (size_t i = 0; i < x.size(); i++) x[i] += 2; // none cancels another
    const std::vector<Case::Wanted> wanted = test.expected(x);
    for (lk_isa isa : lk::instruction_sets()) {
      const Guarded y = test.run(x, isa);
      for (size_t i = 0; i < 3; i++) {
        EXPECT_NEAR(double(y[i]), wanted[i].value * test.factor, 5e-7) << "isa " << isa;
      }
    }
  }
}

// A result has the same bits whatever else is reduced beside it, and however the work is shared.
TEST(Reduce, DependsOnNothingElse) {
  std::mt19937 random(3);
  for (uint32_t mask : {2U, 4U, 6U}) {
    Case all;
    const int64_t dims[] = {5, 67, 331};
    all.from = lk_tensor_desc_make(LK_F32, 3, dims);
    all.mask = mask;
    const Guarded x = lk::random_floats(size_t(lk_elements(&all.from)), random);
    for (lk_isa isa : lk::instruction_sets()) {
      const Guarded y = all.run(x, isa);
      lk::with_threads(3, [&] { EXPECT_TRUE(all.run(x, isa).has_bits_of(y)) << mask; });
      Case one = all;
      one.from.dims[0] = 1;
      for (size_t i = 0; i < 5; i++) {
        Guarded part(67 * 331);
        std::memcpy(part.get(), x.get() + i * part.size(), part.size() * sizeof(float));
        const Guarded result = one.run(part, isa);
        EXPECT_EQ(
            std::memcmp(result.get(), y.get() + i * result.size(), result.size() * sizeof(float)),
            0)
            << mask;
      }
    }
  }
  // Nor do short rows, of which several are added up at once.
  for (int64_t n : {1, 2, 3, 5, 8, 10, 15, 16, 17}) {
    Case rows, row;
    const int64_t many[] = {53, n}, single[] = {1, n};
    rows.from = lk_tensor_desc_make(LK_F32, 2, many);
    row.from = lk_tensor_desc_make(LK_F32, 2, single);
    rows.mask = row.mask = 2;
    const Guarded x = lk::random_floats(size_t(53 * n), random);
    for (lk_isa isa : lk::instruction_sets()) {
      const Guarded y = rows.run(x, isa);
      for (size_t i = 0; i < 53; i++) {
        Guarded part{size_t(n)};
        std::memcpy(part.get(), x.get() + i * part.size(), part.size() * sizeof(float));
        EXPECT_EQ(row.run(part, isa)[0], y[i]) << n << " isa " << isa;
      }
    }
  }
  // Columns do not depend on how many there are.
  Case wide, narrow;
  const int64_t dims[] = {1000, 700}, one[] = {1000, 1};
  wide.from = lk_tensor_desc_make(LK_F32, 2, dims);
  narrow.from = lk_tensor_desc_make(LK_F32, 2, one);
  wide.mask = narrow.mask = 1;
  const Guarded x = lk::random_floats(700000, random);
  for (lk_isa isa : lk::instruction_sets()) {
    const Guarded y = wide.run(x, isa);
    for (size_t column : {0U, 17U, 355U, 384U, 699U}) {
      Guarded part(1000);
      for (size_t i = 0; i < 1000; i++) part[i] = x[i * 700 + column];
      EXPECT_EQ(narrow.run(part, isa)[0], y[column]);
    }
  }
}

TEST(Reduce, HasIeeesSpecialNumbers) {
  Case test;
  const int64_t dims[] = {4, 40};
  test.from = lk_tensor_desc_make(LK_F32, 2, dims);
  Guarded x(160);
  for (size_t i = 0; i < x.size(); i++) x[i] = -1;
  x[7] = INFINITY;       // row 0, column 7
  x[40 + 9] = NAN;       // row 1, column 9
  x[80 + 11] = INFINITY; // row 2, columns 11 and 12
  x[80 + 12] = -INFINITY;
  for (lk_isa isa : lk::instruction_sets()) {
    test.mask = 2;
    test.kind = LK_REDUCE_SUM;
    const Guarded rows = test.run(x, isa);
    EXPECT_EQ(rows[0], INFINITY);
    EXPECT_TRUE(std::isnan(rows[1]) && std::isnan(rows[2]));
    EXPECT_EQ(rows[3], -40);
    test.mask = 1;
    const Guarded columns = test.run(x, isa);
    EXPECT_EQ(columns[7], INFINITY);
    EXPECT_TRUE(std::isnan(columns[9]));
    EXPECT_EQ(columns[12], -INFINITY);
    EXPECT_EQ(columns[0], -4);
    test.kind = LK_REDUCE_LARGEST;
    EXPECT_EQ(test.run(x, isa)[9], -1) << "NaN does not count";
    EXPECT_EQ(test.run(x, isa)[11], INFINITY);
    test.mask = 2;
    EXPECT_EQ(test.run(x, isa)[1], -1);
  }
}

} // namespace
