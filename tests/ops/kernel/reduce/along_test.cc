// Largest elements and running totals along one dimension against plain loops, of every type, on
// every instruction set.
#include "tests/harness/lk_test.h"
#include "tests/ops/kernel/element/element_reference.h"
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "base/tensor.h"
#include "ops/kernel/reduce/along.h"
}

namespace {

constexpr uint32_t TYPES[] = {LK_F32, LK_F64, LK_F16, LK_BF16, LK_I8,  LK_U8,
                              LK_I16, LK_U16, LK_I32, LK_U32,  LK_I64, LK_U64};

struct Case {
  uint32_t dtype;
  int64_t outer, n, inner;
  std::vector<char> x;

  size_t size() const { return lk_dtype_size(dtype); }
  int64_t count() const { return outer * n * inner; }
  int64_t at(int64_t o, int64_t row, int64_t i) const { return (o * n + row) * inner + i; }
  bool is_real() const { return lk_element_class_of(dtype) <= LK_ELEMENT_F64; }
  lk::Number read(int64_t index) const {
    return lk::read_element(dtype, x.data() + size_t(index) * size());
  }
  double value(int64_t index) const {
    return lk::to_double(lk_element_class_of(dtype), read(index));
  }
  void write(std::vector<char> *to, int64_t index, double value) const {
    lk::Number y = {};
    if (dtype == LK_F64) {
      y.f64 = value;
    } else if (is_real()) {
      y.f32 = float(value);
    } else {
      y.i64 = int64_t(value);
    }
    lk::write_element(dtype, to->data() + size_t(index) * size(), y, size());
  }
};

// Few numbers, so that many are equal; of floating point, some NaN. In long rows, one number that
// is larger than all, and one that is smaller, lie anywhere.
Case draw(std::mt19937 &random, uint32_t dtype) {
  constexpr int64_t SIZES[] = {1, 2, 3, 7, 64, 65, 300, 600};
  const auto pick = [&] { return SIZES[random() % std::size(SIZES)]; };
  Case test = {dtype, 1 + int64_t(random() % 3), pick(), random() % 2 == 0 ? 1 : pick(), {}};
  if (random() % 5 == 0) test.n = 9000, test.inner = 1;
  if (random() % 3 == 0) test.outer = 1 + int64_t(random() % 1500), test.inner = 1;
  if (test.outer > 3) test.n = 1 + int64_t(random() % 100); // short rows
  test.x.resize(size_t(test.count()) * test.size());
  const bool has_nan = test.is_real() && random() % 3 == 0;
  for (int64_t i = 0; i < test.count(); i++) {
    const bool is_nan = has_nan && random() % 50 == 0;
    const bool is_signed = test.is_real() || dtype == LK_I8 || dtype == LK_I64;
    test.write(&test.x, i, is_nan ? NAN : double(1 + random() % 30) - (is_signed ? 15 : 0));
  }
  for (int64_t row = 0; row < test.outer && test.n > 1000; row++) {
    for (const double extreme : {40.0, test.is_real() || dtype == LK_I64 ? -40.0 : 0.0}) {
      test.write(&test.x, row * test.n + int64_t(random() % uint64_t(test.n)), extreme);
    }
  }
  return test;
}

template <typename Check> void each(const Check &check) {
  std::mt19937 random(1);
  for (const uint32_t dtype : TYPES) {
    for (int round = 0; round < 16; round++) {
      const Case test = draw(random, dtype);
      for (const lk_isa isa : lk::instruction_sets()) {
        SCOPED_TRACE(lk_dtype_name(dtype) + std::string(" ") + std::to_string(test.outer) + " " +
                     std::to_string(test.n) + " " + std::to_string(test.inner) + " isa " +
                     std::to_string(isa));
        lk_along step = {};
        step.dtype = dtype;
        step.outer = test.outer, step.n = test.n, step.inner = test.inner;
        step.is_reversed = round % 2 == 1;
        step.is_smallest = round % 4 >= 2;
        step.is_product = round % 4 >= 2;
        step.is_exclusive = round % 8 >= 4;
        lk_along_plan(&step, isa);
        check(test, &step);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Along, FindsTheFirstOrLastOfTheLargest) {
  each([](const Case &test, lk_along *step) {
    const auto results = size_t(test.outer * test.inner);
    std::vector<int64_t> found(results), right(results);
    std::vector<char> hot(test.x.size()), right_hot(test.x.size());
    for (int64_t o = 0; o < test.outer; o++) {
      for (int64_t i = 0; i < test.inner; i++) {
        int64_t best = -1;
        for (int64_t k = 0; k < test.n; k++) {
          const int64_t row = step->is_reversed ? test.n - 1 - k : k;
          const double x = test.value(test.at(o, row, i));
          const double y = best < 0 ? 0 : test.value(test.at(o, best, i));
          const bool more = step->is_smallest ? x < y : x > y;
          if (best < 0 || more || (std::isnan(x) && !std::isnan(y))) best = row;
        }
        right[size_t(o * test.inner + i)] = best;
        for (int64_t row = 0; row < test.n && test.is_real(); row++) {
          test.write(&right_hot, test.at(o, row, i), row == best);
        }
      }
    }
    void *const pointers[] = {const_cast<char *>(test.x.data()), found.data()};
    LK_ASSERT_OK(lk_largest_kernel(step, pointers, LK_ERR));
    ASSERT_EQ(found, right);
    if (!test.is_real()) return;
    step->is_one_hot = true;
    if (step->is_reversed) return; // no operator has both
    void *const to_hot[] = {const_cast<char *>(test.x.data()), hot.data()};
    LK_ASSERT_OK(lk_largest_kernel(step, to_hot, LK_ERR));
    ASSERT_EQ(hot, right_hot);
  });
}

TEST(Along, AddsAndMultipliesOn) {
  each([](const Case &test, lk_along *step) {
    std::vector<char> found = test.x, right = test.x;
    for (int64_t o = 0; o < test.outer; o++) {
      for (int64_t i = 0; i < test.inner; i++) {
        double real = step->is_product;
        uint64_t whole = step->is_product;
        for (int64_t k = 0; k < test.n; k++) {
          const int64_t at = test.at(o, step->is_reversed ? test.n - 1 - k : k, i);
          const auto put = [&] {
            lk::Number y = {};
            y.u64 = whole;
            if (test.dtype == LK_F64) y.f64 = real;
            if (test.is_real() && test.dtype != LK_F64) y.f32 = float(real);
            lk::write_element(test.dtype, right.data() + size_t(at) * test.size(), y, test.size());
          };
          const lk::Number x = test.read(at);
          const bool is_narrow = lk_element_class_of(test.dtype) == LK_ELEMENT_I32;
          const uint64_t bits = is_narrow ? uint64_t(int64_t(x.i32)) : x.u64;
          if (step->is_exclusive) put();
          real = step->is_product ? real * test.value(at) : real + test.value(at);
          whole = step->is_product ? whole * bits : whole + bits;
          if (!step->is_exclusive) put();
        }
      }
    }
    void *const pointers[] = {found.data(), found.data()}; // in place
    LK_ASSERT_OK(lk_running_kernel(step, pointers, LK_ERR));
    for (int64_t i = 0; i < test.count(); i++) {
      const size_t at = size_t(i) * test.size();
      const double is = lk::to_double(lk_element_class_of(test.dtype),
                                      lk::read_element(test.dtype, found.data() + at));
      const double was = lk::to_double(lk_element_class_of(test.dtype),
                                       lk::read_element(test.dtype, right.data() + at));
      ASSERT_TRUE(std::memcmp(found.data() + at, right.data() + at, test.size()) == 0 ||
                  (std::isnan(is) && std::isnan(was)))
          << i << ": " << is << " instead of " << was;
    }
  });
}

} // namespace
