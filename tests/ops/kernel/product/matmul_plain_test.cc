// Matrix products of f64 and of integers against plain loops, on every instruction set.
#include <type_traits>

#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "ops/kernel/product/matmul_plain.h"
}

namespace {

constexpr size_t kGuard = 40; // wider than a tile

template <typename T> constexpr uint32_t dtype_of() {
  if (std::is_same_v<T, double>) return LK_F64;
  if (std::is_same_v<T, int32_t>) return LK_I32;
  if (std::is_same_v<T, uint32_t>) return LK_U32;
  return std::is_same_v<T, int64_t> ? LK_I64 : LK_U64;
}

template <typename T> std::vector<T> numbers(size_t count, std::mt19937_64 &random) {
  std::vector<T> made(count);
  for (T &x : made) {
    if constexpr (std::is_same_v<T, double>) {
      x = std::uniform_real_distribution<double>(-1, 1)(random);
    } else {
      x = T(random()); // products wrap around
    }
  }
  return made;
}

template <typename T> struct Case {
  lk_matmul matmul = {};
  std::vector<T> a, b;

  size_t outputs() const {
    const int64_t batches = matmul.batch_rank > 0 ? matmul.batch[0].size : 1;
    return size_t(batches * matmul.rows * matmul.columns);
  }

  std::vector<T> run(lk_isa isa) const {
    const T mark = T(77);
    std::vector<T> c(outputs() + 2 * kGuard, mark);
    lk_matmul_plain step;
    lk_matmul_plain_plan(&matmul, dtype_of<T>(), isa, &step);
    void *const pointers[] = {const_cast<T *>(a.data()), const_cast<T *>(b.data()),
                              c.data() + kGuard};
    EXPECT_EQ(lk_matmul_plain_kernel(&step, pointers, nullptr), LK_OK);
    for (size_t i = 0; i < kGuard; i++) {
      EXPECT_EQ(c[i], mark);
      EXPECT_EQ(c[c.size() - 1 - i], mark);
    }
    return {c.begin() + kGuard, c.end() - kGuard};
  }

  std::vector<T> expected() const {
    using Sum = std::conditional_t<std::is_same_v<T, double>, long double, uint64_t>;
    std::vector<T> c;
    for (int64_t i = 0; i < int64_t(outputs()); i++) {
      const int64_t column = i % matmul.columns, row = i / matmul.columns % matmul.rows;
      const int64_t batch = i / matmul.columns / matmul.rows;
      Sum sum = 0;
      for (int64_t k = 0; k < matmul.k; k++) {
        sum +=
            Sum(a[size_t(batch * matmul.batch[0].a + row * matmul.a_row + k * matmul.a_k)]) *
            Sum(b[size_t(batch * matmul.batch[0].b + k * matmul.b_k + column * matmul.b_column)]);
      }
      c.push_back(T(sum));
    }
    return c;
  }
};

// Either operand may be transposed, and the right one may be repeated.
template <typename T>
Case<T> make(int64_t batches, int64_t rows, int64_t k, int64_t columns, int form,
             std::mt19937_64 &random) {
  Case<T> made;
  const bool turns_a = (form & 1) != 0, turns_b = (form & 2) != 0, repeats = (form & 4) != 0;
  lk_matmul &matmul = made.matmul;
  matmul.rows = rows;
  matmul.columns = columns;
  matmul.k = k;
  matmul.a_row = turns_a ? 1 : k;
  matmul.a_k = turns_a ? rows : 1;
  matmul.b_k = turns_b ? 1 : columns;
  matmul.b_column = turns_b ? k : 1;
  matmul.c_row = columns;
  matmul.batch_rank = 1;
  matmul.batch[0] = {batches, rows * k, repeats ? 0 : k * columns, rows * columns};
  made.a = numbers<T>(size_t(batches * rows * k), random);
  made.b = numbers<T>(size_t((repeats ? 1 : batches) * k * columns), random);
  return made;
}

template <typename T> class MatmulPlain : public testing::Test {};
using Types = testing::Types<double, int32_t, uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(MatmulPlain, Types, );

// Of sums of products of f64 the order of additions is not the loops'.
template <typename T> void expect_right(const Case<T> &test) {
  const std::vector<T> wanted = test.expected();
  for (lk_isa isa : lk::instruction_sets()) {
    const std::vector<T> found = test.run(isa);
    for (size_t i = 0; i < wanted.size(); i++) {
      const bool is_right = std::is_same_v<T, double>
                                ? lk::is_close(double(wanted[i]), double(found[i]), {0, 1e-13})
                                : found[i] == wanted[i];
      ASSERT_TRUE(is_right) << found[i] << " instead of " << wanted[i] << ": isa " << isa << ", at "
                            << i;
    }
  }
}

TYPED_TEST(MatmulPlain, MatchesPlainLoops) {
  std::mt19937_64 random(1);
  for (int64_t rows : {1, 2, 3, 5, 8, 9, 13, 130}) {
    for (int64_t columns : {1, 2, 3, 7, 16, 31, 64, 150}) {
      for (int64_t k : {1, 6, 8, 13, 128, 131}) {
        for (int form = 0; form < 8; form++) {
          SCOPED_TRACE(testing::Message()
                       << rows << "x" << k << "x" << columns << ", form " << form);
          expect_right(make<TypeParam>(2, rows, k, columns, form, random));
        }
      }
    }
  }
}

// Few columns are taken in parts, none of which is too short.
TYPED_TEST(MatmulPlain, MatchesPlainLoopsOfLongRows) {
  std::mt19937_64 random(3);
  for (int64_t columns : {1, 2, 3, 4}) {
    for (int64_t k : {1023, 1024, 1031, 1032, 1033, 2050}) {
      SCOPED_TRACE(testing::Message() << k << "x" << columns);
      expect_right(make<TypeParam>(1, 7, k, columns, 0, random));
    }
  }
}

TYPED_TEST(MatmulPlain, HasTheSameBitsOnAnyThreads) {
  std::mt19937_64 random(2);
  const auto test = make<TypeParam>(2, 300, 140, 290, 0, random);
  for (lk_isa isa : lk::instruction_sets()) {
    const std::vector<TypeParam> alone = test.run(isa);
    for (int threads : {2, 8}) {
      lk::with_threads(threads, [&] { EXPECT_EQ(test.run(isa), alone) << threads; });
    }
  }
}

TEST(MatmulPlainTypes, TakesNoOthers) {
  for (uint32_t dtype : {LK_F32, LK_F16, LK_BF16, LK_I8, LK_U8, LK_I16, LK_U16, LK_BOOL}) {
    EXPECT_FALSE(lk_matmul_plain_takes(dtype)) << dtype;
  }
}

} // namespace
