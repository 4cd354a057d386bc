// Sums and maxima over random dimensions against plain loops in double, on every instruction set.
#include <algorithm>

#include "tests/harness/lk_test.h"
#include "tests/ops/kernel/element/element_reference.h"
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "base/tensor.h"
#include "ops/kernel/reduce/reduce.h"
#include "ops/kernel/strides.h"
}

namespace {

using lk::Guarded;

struct Case {
  lk_tensor_desc from = {};
  uint32_t mask = 0;
  lk_reduce_kind kind = LK_REDUCE_SUM;
  lk_layout to_layout = LK_LAYOUT_PLAIN;
  double divisor = 1;

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
    const lk_reduction reduction = {kind, LK_REDUCE_AS_IT_IS, divisor, LK_DTYPE_NONE};
    lk_reduce_plan(&from, mask, strides, &reduction, isa, &step);
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
    const bool adds = kind <= LK_REDUCE_SQUARES;
    const double start = adds                        ? 0
                         : kind == LK_REDUCE_PRODUCT ? 1
                         : kind == LK_REDUCE_MIN     ? double(INFINITY)
                                                     : -double(INFINITY);
    std::vector<Wanted> y(size_t(lk_elements(&desc)), {start, 0});
    for (int64_t i = 0; i < lk_elements(&from); i++) {
      int64_t left = i, read = 0, write = 0;
      for (uint32_t d = from.rank; d-- > 0; left /= from.dims[d]) {
        read += left % from.dims[d] * in[d];
        if ((mask >> d & 1) == 0) write += left % from.dims[d] * out[d];
      }
      const double given = double(x[size_t(read)]);
      const double value = kind == LK_REDUCE_SIZES     ? std::fabs(given)
                           : kind == LK_REDUCE_SQUARES ? given * given
                                                       : given;
      Wanted &to = y[size_t(write)];
      to.value = adds                        ? to.value + value
                 : kind == LK_REDUCE_PRODUCT ? to.value * value
                 : kind == LK_REDUCE_MIN     ? std::min(to.value, value)
                                             : std::max(to.value, value);
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
      const double value = wanted[i].value / test.divisor;
      const double allowed = test.kind == LK_REDUCE_PRODUCT ? 1e-5 * std::fabs(value) + 1e-40
                             : test.kind <= LK_REDUCE_SQUARES
                                 ? 1e-7 * std::fabs(value) + 4e-6 * wanted[i].size / test.divisor
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
    test.kind = lk_reduce_kind(number(0, LK_REDUCE_KINDS - 1));
    test.divisor = test.kind == LK_REDUCE_SUM ? 4 : 1;
    check(test, lk::random_floats(size_t(lk_elements(&test.from)), random));
    if (HasFatalFailure()) return;
  }
}

// Around what is summed at once.
TEST(Reduce, TakesManyColumns) {
  std::mt19937 random(4);
  for (const int64_t columns : {496, 511, 512, 513, 1000, 1024, 1040}) {
    for (int kind = 0; kind < LK_REDUCE_KINDS; kind++) {
      const int64_t dims[] = {1 + int64_t(random() % 20), columns};
      Case test;
      test.from = lk_tensor_desc_make(LK_F32, 2, dims);
      test.mask = 1;
      test.kind = lk_reduce_kind(kind);
      check(test, lk::random_floats(size_t(dims[0] * columns), random));
      if (HasFatalFailure()) return;
    }
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
    test.divisor = 200000;
    Guarded x = lk::random_floats(600000, random);
    for (size_t i = 0; i < x.size(); i++) x[i] += 2; // none cancels another
    const std::vector<Case::Wanted> wanted = test.expected(x);
    for (lk_isa isa : lk::instruction_sets()) {
      const Guarded y = test.run(x, isa);
      for (size_t i = 0; i < 3; i++) {
        EXPECT_NEAR(double(y[i]), wanted[i].value / test.divisor, 5e-7) << "isa " << isa;
      }
    }
  }
}

// A result has the same bits whatever else is reduced beside it, and however the work is shared.
TEST(Reduce, DependsOnNothingElseNorOnThreads) {
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
  for (int64_t n : {1, 2, 3, 5, 8, 10, 15, 16, 17, 63, 64, 65, 200, 4096, 4100}) {
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
    for (const lk_reduce_kind kind : {LK_REDUCE_MAX, LK_REDUCE_MIN}) {
      test.kind = kind;
      test.mask = 2;
      const Guarded of_rows = test.run(x, isa);
      EXPECT_TRUE(std::isnan(of_rows[1])) << "NaN comes out";
      EXPECT_EQ(of_rows[2], kind == LK_REDUCE_MAX ? INFINITY : -INFINITY);
      test.mask = 1;
      EXPECT_TRUE(std::isnan(test.run(x, isa)[9]));
    }
  }
}

// ---- other types ----

// Of one element after the other: reals, or whole numbers that wrap around.
struct Total {
  double real;
  int64_t whole;
};
Total plus(lk_reduce_kind kind, uint32_t dtype, Total so_far, lk::Number x) {
  const uint32_t class_ = lk_element_class_of(dtype);
  if (class_ <= LK_ELEMENT_F64) {
    const double value = lk::to_double(class_, x), y = so_far.real;
    return {kind == LK_REDUCE_SIZES     ? y + std::fabs(value)
            : kind == LK_REDUCE_SQUARES ? y + value * value
            : kind == LK_REDUCE_PRODUCT ? y * value
            : kind == LK_REDUCE_MAX     ? std::max(y, value)
            : kind == LK_REDUCE_MIN     ? std::min(y, value)
                                        : y + value,
            0};
  }
  const int64_t value = class_ == LK_ELEMENT_I32 ? x.i32 : x.i64, y = so_far.whole;
  const uint64_t bits = uint64_t(value), so_far_bits = uint64_t(y);
  const bool is_less = dtype == LK_U64 ? bits < so_far_bits : value < y;
  return {0, kind == LK_REDUCE_SIZES && dtype != LK_U64 && value < 0 ? int64_t(so_far_bits - bits)
             : kind == LK_REDUCE_SQUARES ? int64_t(so_far_bits + bits * bits)
             : kind == LK_REDUCE_PRODUCT ? int64_t(so_far_bits * bits)
             : kind == LK_REDUCE_MAX     ? (is_less ? y : value)
             : kind == LK_REDUCE_MIN     ? (is_less ? value : y)
                                         : int64_t(so_far_bits + bits)};
}

TEST(Reduce, TakesEveryType) {
  std::mt19937 random(4);
  for (const uint32_t dtype : {LK_F32, LK_F64, LK_F16, LK_BF16, LK_I8, LK_U8, LK_I16, LK_U16,
                               LK_I32, LK_U32, LK_I64, LK_U64, LK_BOOL}) {
    for (int kind = LK_REDUCE_SUM; kind <= LK_REDUCE_MIN; kind++) {
      for (const int64_t n : {1, 7, 9, 16, 17, 33, 70, 5000}) {
        for (const bool down : {false, true}) { // 3 rows, or columns
          const int64_t dims[] = {down ? n : 3, down ? 3 : n};
          const lk_tensor_desc from = lk_tensor_desc_make(dtype, 2, dims);
          const size_t size = lk_dtype_size(dtype);
          const bool is_real = lk_element_class_of(dtype) <= LK_ELEMENT_F64;
          std::vector<char> x(size_t(3 * n) * size), y(3 * size), right(3 * size);
          std::vector<Total> totals(3);
          for (int64_t i = 0; i < 3 * n; i++) {
            lk::Number value = {};
            const int small = int(random() % 5) - (is_real || dtype == LK_I8 ? 2 : 0);
            if (dtype == LK_F64) value.f64 = small;
            if (is_real && dtype != LK_F64) value.f32 = float(small);
            if (!is_real) value.i64 = dtype == LK_BOOL ? random() % 2 : small;
            if (kind >= LK_REDUCE_MAX && dtype == LK_U8) value.i64 = random() % 256;
            if (kind >= LK_REDUCE_MAX && dtype == LK_I8) value.i64 = int(random() % 256) - 128;
            if (kind == LK_REDUCE_PRODUCT && is_real && n > 9) value = {};
            lk::write_element(dtype, x.data() + size_t(i) * size, value, size);
            const auto at = size_t(down ? i % 3 : i / n);
            value = lk::read_element(dtype, x.data() + size_t(i) * size);
            const bool is_first = down ? i < 3 : i % n == 0;
            const Total start = {kind == LK_REDUCE_PRODUCT ? 1.0 : 0, kind == LK_REDUCE_PRODUCT};
            const Total first = {lk::to_double(lk_element_class_of(dtype), value),
                                 lk_element_class_of(dtype) == LK_ELEMENT_I32 ? value.i32
                                                                              : value.i64};
            const bool orders = kind == LK_REDUCE_MAX || kind == LK_REDUCE_MIN;
            if (is_first) totals[at] = orders ? first : start;
            totals[at] = plus(lk_reduce_kind(kind), dtype, totals[at], value);
          }
          for (size_t i = 0; i < 3; i++) {
            lk::Number value = {};
            value.i64 = totals[i].whole;
            if (dtype == LK_F64) value.f64 = totals[i].real;
            if (is_real && dtype != LK_F64) value.f32 = float(totals[i].real);
            lk::write_element(dtype, right.data() + i * size, value, size);
            if (dtype == LK_BOOL && kind < LK_REDUCE_MAX) right[i] = char(totals[i].whole);
          }
          for (lk_isa isa : lk::instruction_sets()) {
            const lk_reduction reduction = {lk_reduce_kind(kind), LK_REDUCE_AS_IT_IS, 1,
                                            LK_DTYPE_NONE};
            const int64_t strides[] = {down ? 0 : 1, down ? 1 : 0};
            lk_reduce step;
            lk_reduce_plan(&from, down ? 1 : 2, strides, &reduction, isa, &step);
            void *const pointers[] = {x.data(), y.data()};
            LK_ASSERT_OK(lk_reduce_kernel(&step, pointers, LK_ERR));
            ASSERT_EQ(y, right) << lk_dtype_name(dtype) << " kind " << kind << " n " << n
                                << " down " << down << " isa " << isa;
          }
        }
      }
    }
  }
}

// The largest and smallest bytes of rows, of which several are compared at once.
template <typename T> void compares_bytes(uint32_t dtype) {
  std::mt19937 random(6);
  for (const int64_t n : {1, 15, 16, 17, 31, 33, 64, 65, 127, 130, 300, 1000}) {
    for (const int64_t count : {1, 15, 16, 17, 50}) {
      std::vector<T> x(size_t(n * count));
      for (T &one : x) one = T(random());
      for (lk_isa isa : lk::instruction_sets()) {
        for (const bool largest : {false, true}) {
          const int64_t dims[] = {count, n}, strides[] = {1, 0};
          const lk_tensor_desc from = lk_tensor_desc_make(dtype, 2, dims);
          const lk_reduction reduction = {largest ? LK_REDUCE_MAX : LK_REDUCE_MIN,
                                          LK_REDUCE_AS_IT_IS, 1, LK_DTYPE_NONE};
          std::vector<T> y(static_cast<size_t>(count)), right;
          for (auto row = x.begin(); row != x.end(); row += n) {
            right.push_back(largest ? *std::max_element(row, row + n)
                                    : *std::min_element(row, row + n));
          }
          lk_reduce step;
          lk_reduce_plan(&from, 2, strides, &reduction, isa, &step);
          void *const pointers[] = {x.data(), y.data()};
          LK_ASSERT_OK(lk_reduce_kernel(&step, pointers, LK_ERR));
          ASSERT_EQ(y, right) << count << " rows of " << n << " isa " << isa;
        }
      }
    }
  }
}

TEST(Reduce, ComparesBytesOfManyRows) {
  compares_bytes<uint8_t>(LK_U8);
  compares_bytes<int8_t>(LK_I8);
}

// Products of rows do not depend on how many there are.
TEST(Reduce, ProductsOfRowsDependOnNothingElse) {
  std::mt19937 random(8);
  for (int64_t n : {1, 3, 7, 8, 9, 16, 17, 64, 300}) {
    Case rows, row;
    const int64_t many[] = {37, n}, single[] = {1, n};
    rows.kind = row.kind = LK_REDUCE_PRODUCT;
    rows.from = lk_tensor_desc_make(LK_F32, 2, many);
    row.from = lk_tensor_desc_make(LK_F32, 2, single);
    rows.mask = row.mask = 2;
    const Guarded x = lk::random_floats(size_t(37 * n), random);
    for (lk_isa isa : lk::instruction_sets()) {
      const Guarded y = rows.run(x, isa);
      for (size_t i = 0; i < 37; i++) {
        Guarded part{size_t(n)};
        std::memcpy(part.get(), x.get() + i * part.size(), part.size() * sizeof(float));
        EXPECT_EQ(row.run(part, isa)[0], y[i]) << n << " isa " << isa;
      }
    }
  }
}

// Zeroes have signs: which one comes out does not depend on how many rows or columns there are.
TEST(Reduce, SignsOfZeroesDependOnNothingElse) {
  constexpr int64_t MOST = 40;
  std::mt19937 random(5);
  for (const uint32_t dtype : {LK_F32, LK_F64, LK_F16, LK_BF16}) {
    const size_t size = lk_dtype_size(dtype);
    for (const lk_reduce_kind kind : {LK_REDUCE_MAX, LK_REDUCE_MIN}) {
      // Zeroes among numbers that never come out beside one: these begin some lines.
      std::vector<char> numbers(MOST * MOST * size);
      for (size_t at = 0; at < numbers.size(); at += size) {
        const int drawn = int(random() % 4);
        const double other = kind == LK_REDUCE_MAX ? -1 : 1;
        const double value = drawn == 0 ? -0.0 : drawn == 1 ? 0.0 : other;
        lk::Number x = {};
        if (dtype == LK_F64) x.f64 = value;
        if (dtype != LK_F64) x.f32 = float(value);
        lk::write_element(dtype, numbers.data() + at, x, size);
      }
      for (lk_isa isa : lk::instruction_sets()) {
        for (const bool down : {false, true}) {
          for (int64_t n = 1; n <= MOST; n++) {
            // Line i has the elements n * i and those behind it, whatever the direction.
            const auto run = [&](int64_t first, int64_t count) {
              const int64_t dims[] = {down ? n : count, down ? count : n};
              const int64_t strides[] = {down ? 0 : 1, down ? 1 : 0};
              const lk_tensor_desc from = lk_tensor_desc_make(dtype, 2, dims);
              std::vector<char> x(size_t(count * n) * size), y(size_t(count) * size);
              for (int64_t i = 0; i < count; i++) {
                for (int64_t k = 0; k < n; k++) {
                  std::memcpy(x.data() + size_t(down ? k * count + i : i * n + k) * size,
                              numbers.data() + size_t((first + i) * n + k) * size, size);
                }
              }
              const lk_reduction reduction = {kind, LK_REDUCE_AS_IT_IS, 1, LK_DTYPE_NONE};
              lk_reduce step;
              lk_reduce_plan(&from, down ? 1 : 2, strides, &reduction, isa, &step);
              void *const pointers[] = {x.data(), y.data()};
              LK_EXPECT_OK(lk_reduce_kernel(&step, pointers, LK_ERR));
              return y;
            };
            std::vector<char> alone;
            for (int64_t i = 0; i < MOST; i++) {
              const std::vector<char> one = run(i, 1);
              alone.insert(alone.end(), one.begin(), one.end());
              ASSERT_EQ(run(0, i + 1), alone)
                  << lk_dtype_name(dtype) << " kind " << kind << " isa " << isa << " down " << down
                  << ": " << i + 1 << " lines of " << n;
            }
          }
        }
      }
    }
  }
}

template <typename T> void check_of_nothing(uint32_t dtype) {
  const struct {
    lk_reduce_kind kind;
    T value;
  } cases[] = {{LK_REDUCE_SUM, 0},
               {LK_REDUCE_PRODUCT, 1},
               {LK_REDUCE_MIN, std::numeric_limits<T>::max()},
               {LK_REDUCE_MAX, std::numeric_limits<T>::lowest()}};
  for (const auto &c : cases) {
    const lk_reduction reduction = {c.kind, LK_REDUCE_AS_IT_IS, 1, LK_DTYPE_NONE};
    T found[8 / sizeof(T)];
    lk_reduce_of_nothing(&reduction, dtype, found);
    EXPECT_EQ(found[0], c.value) << "type " << dtype << ", kind " << c.kind;
  }
}

// Means are cut toward zero, also of sums that f64 does not have.
TEST(Reduce, RootsOfTheLargestSumsOfSquares) {
  const int64_t dims[] = {1, 2}, to[] = {1, 0};
  const lk_tensor_desc from = lk_tensor_desc_make(LK_U32, 2, dims);
  for (lk_isa isa : lk::instruction_sets()) {
    const lk_reduction norm = {LK_REDUCE_SQUARES, LK_REDUCE_ROOT, 1, LK_DTYPE_NONE};
    lk_reduce step;
    lk_reduce_plan(&from, 2, to, &norm, isa, &step);
    std::vector<uint32_t> x = {UINT32_MAX, 0}, y(1);
    void *const pointers[] = {x.data(), y.data()};
    LK_ASSERT_OK(lk_reduce_kernel(&step, pointers, LK_ERR));
    EXPECT_EQ(y[0], UINT32_MAX) << "isa " << isa;
  }
}

TEST(Reduce, MeansOfIntegersAreExact) {
  const std::vector<int64_t> numbers = {7,
                                        -7,
                                        -8,
                                        (1LL << 53) - 1,
                                        1LL << 53,
                                        (1LL << 53) + 1,
                                        -(1LL << 53) - 2,
                                        INT64_MAX,
                                        INT64_MIN,
                                        3,
                                        -1,
                                        0};
  for (const uint32_t dtype : {LK_I64, LK_U64}) {
    for (const int64_t divisor : {2, 3, 7}) {
      const auto count = int64_t(numbers.size());
      const int64_t dims[] = {count, divisor}, to[] = {1, 0};
      const lk_tensor_desc from = lk_tensor_desc_make(dtype, 2, dims);
      std::vector<int64_t> x(size_t(count * divisor), 0), y(numbers.size());
      for (size_t i = 0; i < numbers.size(); i++) x[i * size_t(divisor)] = numbers[i];
      for (lk_isa isa : lk::instruction_sets()) {
        const lk_reduction mean = {LK_REDUCE_SUM, LK_REDUCE_AS_IT_IS, double(divisor),
                                   LK_DTYPE_NONE};
        lk_reduce step;
        lk_reduce_plan(&from, 2, to, &mean, isa, &step);
        void *const pointers[] = {x.data(), y.data()};
        LK_ASSERT_OK(lk_reduce_kernel(&step, pointers, LK_ERR));
        for (size_t i = 0; i < y.size(); i++) {
          const auto wanted = dtype == LK_I64 ? numbers[i] / divisor
                                              : int64_t(uint64_t(numbers[i]) / uint64_t(divisor));
          EXPECT_EQ(y[i], wanted) << numbers[i] << " / " << divisor << " isa " << isa;
        }
      }
    }
  }
}

TEST(Reduce, OfNothingIsWhereTheKindBegins) {
  check_of_nothing<int8_t>(LK_I8);
  check_of_nothing<int16_t>(LK_I16);
  check_of_nothing<int32_t>(LK_I32);
  check_of_nothing<int64_t>(LK_I64);
  check_of_nothing<uint8_t>(LK_U8);
  check_of_nothing<uint16_t>(LK_U16);
  check_of_nothing<uint32_t>(LK_U32);
  check_of_nothing<uint64_t>(LK_U64);
}

} // namespace
