// QLinearMatMul against plain loops, for widths around those of a kernel's vectors. Scales are
// powers of two, where it does not say otherwise: what is rounded is exact, and a tie goes to the
// even number.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/harness/op_tester.h"

namespace {

using lk::OpTester;
using lk::Value;

template <class T> std::vector<T> draw(size_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<T> out(count);
  for (T &value : out) value = static_cast<T>(rng());
  return out;
}

template <class A, class B, class Y> void check(int64_t rows, int64_t depth, int64_t columns) {
  SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(depth) + "x" + std::to_string(columns));
  const auto a = draw<A>(size_t(rows * depth), 1);
  const auto b = draw<B>(size_t(depth * columns), 2);
  const A a_zero = 3;
  const B b_zero = 5;
  const Y y_zero = 7;
  std::vector<Y> y;
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = 0; c < columns; c++) {
      int64_t sum = 0;
      for (int64_t k = 0; k < depth; k++) {
        sum += (a[size_t(r * depth + k)] - a_zero) * (b[size_t(k * columns + c)] - b_zero);
      }
      const double whole = std::nearbyint(double(sum) / 1024) + y_zero; // 1/4 1/2 / 128
      const double low = std::numeric_limits<Y>::min(), high = std::numeric_limits<Y>::max();
      y.push_back(static_cast<Y>(std::min(std::max(whole, low), high)));
    }
  }
  OpTester tester("QLinearMatMul", 10);
  const Value quarter = lk::floats({}, {0.25F}), half = lk::floats({}, {0.5F}),
              wide = lk::floats({}, {128});
  tester.input(lk::tensor<A>({rows, depth}, a)).constant(quarter);
  tester.constant(lk::tensor<A>({}, {a_zero})).constant(lk::tensor<B>({depth, columns}, b));
  tester.constant(half).constant(lk::tensor<B>({}, {b_zero}));
  tester.constant(wide).constant(lk::tensor<Y>({}, {y_zero}));
  tester.expect(lk::tensor<Y>({rows, columns}, y)).run();
}

TEST(QLinearMatMul, GivesBytesOfAnyWidth) {
  for (const int64_t columns : {1, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100}) {
    check<uint8_t, int8_t, uint8_t>(3, 40, columns);
    check<int8_t, int8_t, int8_t>(3, 40, columns);
  }
}

TEST(QLinearMatMul, GivesBytesOfAnyDepth) {
  for (const int64_t depth : {1, 2, 3, 4, 5, 63, 64, 65, 257}) {
    check<uint8_t, int8_t, uint8_t>(7, depth, 37);
    check<int8_t, int8_t, int8_t>(7, depth, 37);
  }
}

// A product by a vector has no columns: its dimensions are those of the rows.
TEST(QLinearMatMul, HasAScaleForEachRowBesideAVector) {
  const std::vector<float> scales = {0.5f, 0.25f, 1};
  for (const lk::Dims &dims : {lk::Dims{3}, lk::Dims{3, 1}}) {
    OpTester tester("QLinearMatMul", 10);
    tester.input(lk::tensor<uint8_t>({3, 2}, {1, 2, 3, 4, 5, 6}));
    tester.constant(lk::floats(dims, scales)).constant(lk::tensor<uint8_t>({}, {0}));
    tester.constant(lk::tensor<int8_t>({2}, {4, 8})).constant(lk::floats({}, {1}));
    tester.constant(lk::tensor<int8_t>({}, {0})).constant(lk::floats({}, {1}));
    tester.constant(lk::tensor<uint8_t>({}, {3}));
    tester.expect(lk::tensor<uint8_t>({3}, {13, 14, 71})).run();
  }
}

// Scales of no round numbers, one for each column: rounded in f32, in this order.
class Scales : public ::testing::Test {
protected:
  static constexpr int64_t rows = 5, depth = 24, columns = 35;
  std::vector<uint8_t> a = draw<uint8_t>(size_t(rows * depth), 1);
  std::vector<int8_t> b = draw<int8_t>(size_t(depth * columns), 2);
  std::vector<float> b_scale;
  const float a_scale = 0.0123F, y_scale = 2.71F;
  Scales() {
    for (int64_t c = 0; c < columns; c++) b_scale.push_back(0.003F * float(c + 1));
  }
  // `known`: bit i is the scale of A, B, Y.
  OpTester tester_of(int known) {
    std::vector<int8_t> y;
    for (int64_t r = 0; r < rows; r++) {
      for (int64_t c = 0; c < columns; c++) {
        int32_t sum = 0;
        for (int64_t k = 0; k < depth; k++) {
          sum += (a[size_t(r * depth + k)] - 9) * b[size_t(k * columns + c)];
        }
        const float scaled = float(sum) * (a_scale * b_scale[size_t(c)] / y_scale);
        y.push_back(int8_t(std::min(std::max(std::nearbyint(scaled) - 4, -128.0F), 127.0F)));
      }
    }
    OpTester tester("QLinearMatMul", 10);
    const auto add = [&](int bit, const Value &scale) {
      (known >> bit & 1) != 0 ? tester.constant(scale) : tester.input(scale);
    };
    tester.input(lk::tensor<uint8_t>({rows, depth}, a));
    add(0, lk::floats({}, {a_scale}));
    tester.constant(lk::tensor<uint8_t>({}, {9}));
    tester.constant(lk::tensor<int8_t>({depth, columns}, b));
    add(1, lk::floats({columns}, b_scale));
    tester.constant(lk::tensor<int8_t>({columns}, std::vector<int8_t>(columns)));
    add(2, lk::floats({}, {y_scale}));
    tester.constant(lk::tensor<int8_t>({}, {-4}));
    tester.expect(lk::tensor<int8_t>({rows, columns}, y));
    return tester;
  }
};

TEST_F(Scales, AreTheSameWhetherTheyAreKnownOrNot) {
  for (int known = 0; known < 8; known++) {
    SCOPED_TRACE(known);
    tester_of(known).run();
  }
}

// A scale and a zero point for each row of A, and for each column of B: as vectors, and of two
// matrices in all their dimensions.
TEST(QLinearMatMul, HasScalesOfRows) {
  constexpr int64_t rows = 3, depth = 20, columns = 37;
  for (const int64_t matrices : {1, 2}) {
    SCOPED_TRACE(matrices);
    const auto a = draw<uint8_t>(size_t(matrices * rows * depth), 1);
    const auto b = draw<int8_t>(size_t(matrices * depth * columns), 2);
    const auto a_zero = draw<uint8_t>(size_t(matrices * rows), 3);
    const auto b_zero = draw<int8_t>(size_t(matrices * columns), 4);
    std::vector<float> a_scale, b_scale;
    for (int64_t r = 0; r < matrices * rows; r++)
      a_scale.push_back(std::ldexp(1.0F, int(r % 4) - 3));
    for (int64_t c = 0; c < matrices * columns; c++) {
      b_scale.push_back(std::ldexp(1.0F, int(c % 3) - 2));
    }
    std::vector<uint8_t> y;
    for (int64_t row = 0; row < matrices * rows; row++) {
      for (int64_t c = 0; c < columns; c++) {
        const int64_t matrix = row / rows, column = matrix * columns + c;
        int64_t sum = 0;
        for (int64_t k = 0; k < depth; k++) {
          sum += (a[size_t(row * depth + k)] - a_zero[size_t(row)]) *
                 (b[size_t((matrix * depth + k) * columns + c)] - b_zero[size_t(column)]);
        }
        const double scaled = double(sum) * a_scale[size_t(row)] * b_scale[size_t(column)] / 64;
        y.push_back(uint8_t(std::min(std::max(std::nearbyint(scaled) + 100, 0.0), 255.0)));
      }
    }
    const auto dims = [&](int64_t r, int64_t c) {
      return matrices > 1 ? lk::Dims{matrices, r, c} : lk::Dims{r, c};
    };
    const lk::Dims of_rows = matrices > 1 ? dims(rows, 1) : lk::Dims{rows};
    const lk::Dims of_columns = matrices > 1 ? dims(1, columns) : lk::Dims{columns};
    OpTester("QLinearMatMul", 10)
        .input(lk::tensor<uint8_t>(dims(rows, depth), a))
        .input(lk::floats(of_rows, a_scale))
        .constant(lk::tensor<uint8_t>(of_rows, a_zero))
        .constant(lk::tensor<int8_t>(dims(depth, columns), b))
        .constant(lk::floats(of_columns, b_scale))
        .constant(lk::tensor<int8_t>(of_columns, b_zero))
        .constant(lk::floats({}, {64}))
        .constant(lk::tensor<uint8_t>({}, {100}))
        .expect(lk::tensor<uint8_t>(dims(rows, columns), y))
        .run();
  }
}

class ScalesOfNative : public Scales {};

TEST_F(ScalesOfNative, AreNoStepWhereTheyAreKnown) {
  EXPECT_EQ(tester_of(7).work_of_steps().steps, 1U);
  EXPECT_EQ(tester_of(6).work_of_steps().steps, 2U);
}

} // namespace
