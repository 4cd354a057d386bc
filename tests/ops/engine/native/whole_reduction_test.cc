// Means, roots and logarithms of whole numbers whose totals do not fit in 64 bits: as in ONNX
// Runtime, which adds up in f64 and holds the result within its type. Where they fit, they are
// exact.
#include <cmath>
#include <string_view>

#include "tests/harness/op_tester.h"

namespace {

using lk::OpTester;
using lk::Value;

constexpr int64_t LOW = INT64_MIN, HIGH = INT64_MAX, LARGE = int64_t{1} << 62;

template <typename T> Value list(const std::vector<T> &values, const lk::Dims &dims) {
  return lk::tensor<T>(dims, values);
}

// The rows of 2 and then the columns, in memory of [2, 2, n] and [n, 4].
template <typename T> void reduces(const char *op, const std::vector<T> &row, T expected) {
  SCOPED_TRACE(op);
  const int64_t n = int64_t(row.size());
  std::vector<T> rows, columns;
  for (int i = 0; i < 4; i++) rows.insert(rows.end(), row.begin(), row.end());
  for (const T &one : row) columns.insert(columns.end(), 4, one);
  const std::vector<T> four(4, expected);
  OpTester(op, 18)
      .input(list<T>(rows, {2, 2, n}))
      .constant(lk::ints({-1}))
      .expect(list<T>(four, {2, 2, 1}))
      .run();
  OpTester(op, 18)
      .attr("keepdims", 0)
      .input(list<T>(columns, {n, 4}))
      .constant(lk::ints({0}))
      .expect(list<T>(four, {4}))
      .run();
}

TEST(WholeReduction, MeansOf64BitsDoNotWrap) {
  reduces<int64_t>("ReduceMean", {LARGE, LARGE, LARGE}, LARGE);
  reduces<int64_t>("ReduceMean", {-LARGE, -LARGE, -LARGE}, -LARGE);
  reduces<int64_t>("ReduceMean", {LARGE, LARGE, LARGE, 1}, LARGE / 4 * 3);
  reduces<int64_t>("ReduceMean", {HIGH, HIGH}, HIGH);
  reduces<int64_t>("ReduceMean", {LOW, LOW}, LOW);
  reduces<uint64_t>("ReduceMean", {UINT64_MAX, UINT64_MAX}, UINT64_MAX);
  // these fit
  const int64_t odd = (int64_t{1} << 53) + 1;
  reduces<int64_t>("ReduceMean", {odd, odd}, odd);
  reduces<int64_t>("ReduceMean", {-7, -8}, -7);
  reduces<int64_t>("ReduceMean", {HIGH, LOW}, 0);
  reduces<int32_t>("ReduceMean", {INT32_MAX, INT32_MAX}, INT32_MAX);
}

TEST(WholeReduction, RootsAreHeldWithinTheirType) {
  reduces<int32_t>("ReduceL2", std::vector<int32_t>(4, INT32_MIN), INT32_MAX);
  reduces<int32_t>("ReduceL2", std::vector<int32_t>(3, INT32_MAX), INT32_MAX);
  reduces<int32_t>("ReduceL2", {3 << 28, 1 << 30}, 5 << 28);
  reduces<uint32_t>("ReduceL2", {UINT32_MAX, UINT32_MAX}, UINT32_MAX);
  reduces<uint32_t>("ReduceL2", {UINT32_MAX, 0}, UINT32_MAX);
  reduces<int64_t>("ReduceL2", std::vector<int64_t>(4, int64_t{1} << 31), int64_t{1} << 32);
  reduces<int64_t>("ReduceL2", {int64_t{3} << 40, int64_t{4} << 40}, int64_t{5} << 40);
  reduces<int64_t>("ReduceL2", std::vector<int64_t>(4, LARGE), HIGH);
  reduces<int64_t>("ReduceL2", {LOW, LOW}, HIGH);
  reduces<uint64_t>("ReduceL2", {UINT64_MAX, UINT64_MAX}, UINT64_MAX);
  // x^2 + (2x)^2 + (2x)^2 = (3x)^2: exact beyond the bits that f64 has
  for (int32_t x : {1, 46337, 357913941, 715827881}) {
    reduces<int32_t>("ReduceL2", {x, 0, 0}, x);
    reduces<int64_t>("ReduceL2", {x, 2 * int64_t{x}, -2 * int64_t{x}}, 3 * int64_t{x});
  }
}

// Rows of some lengths, short and long, whose results do not depend on what is in other rows: where
// an element is large, totals are found in another way.
template <typename T> void is_same_beside(const char *op, T large) {
  SCOPED_TRACE(op);
  for (const int64_t n : {1, 2, 3, 7, 8, 9, 31, 5000}) {
    const int64_t rows = 20;
    std::vector<T> x, expected;
    for (int64_t row = 0; row < rows; row++) {
      double squares = 0;
      int64_t sum = 0;
      for (int64_t i = 0; i < n; i++) {
        const int64_t one = (row * 7919 + i * 104729) % 30011; // sums of squares are exact
        const int64_t signed_one = T(-1) < T(0) && i % 3 == 0 ? -one : one;
        x.push_back(T(signed_one));
        sum += signed_one;
        squares += double(one) * double(one);
      }
      expected.push_back(
          T(std::string_view(op) == "ReduceMean" ? sum / n : int64_t(std::sqrt(squares))));
    }
    for (const bool has_large : {false, true}) {
      if (has_large) {
        x.insert(x.end(), size_t(n), T(0));
        x.back() = large;
        expected.push_back(std::string_view(op) == "ReduceMean" ? large / T(n) : large);
      }
      const int64_t count = rows + (has_large ? 1 : 0);
      OpTester(op, 18)
          .input(list<T>(x, {count, n}))
          .constant(lk::ints({1}))
          .expect(list<T>(expected, {count, 1}))
          .run();
      std::vector<T> columns(x.size());
      for (size_t i = 0; i < x.size(); i++) {
        columns[i % size_t(n) * size_t(count) + i / size_t(n)] = x[i];
      }
      OpTester(op, 18)
          .input(list<T>(columns, {n, count}))
          .constant(lk::ints({0}))
          .expect(list<T>(expected, {1, count}))
          .run();
    }
  }
}

TEST(WholeReduction, ResultsAreTheSameBesideLargeOnes) {
  is_same_beside<int64_t>("ReduceMean", int64_t{7} << 58);
  is_same_beside<uint64_t>("ReduceMean", uint64_t{7} << 58);
  is_same_beside<int32_t>("ReduceL2", 2100000000);
  is_same_beside<uint32_t>("ReduceL2", 4000000000);
  is_same_beside<int64_t>("ReduceL2", int64_t{1} << 61);
  is_same_beside<uint64_t>("ReduceL2", uint64_t{1} << 63);
}

TEST(WholeReduction, LogarithmsOfLargeAndOfNoTotals) {
  reduces<int64_t>("ReduceLogSum", {LARGE, LARGE, LARGE}, 44);
  reduces<int64_t>("ReduceLogSum", {HIGH, HIGH}, 44);
  reduces<int64_t>("ReduceLogSum", {1, 0}, 0);
  reduces<int64_t>("ReduceLogSum", {0, 0}, LOW);
  reduces<int32_t>("ReduceLogSum", {0, 0}, INT32_MIN);
  reduces<int32_t>("ReduceLogSum", {-5, 1}, INT32_MIN);
  reduces<int32_t>("ReduceLogSum", {20, 3}, 3);
  reduces<int64_t>("ReduceLogSumExp", {HIGH, HIGH}, HIGH);
}

TEST(WholeReduction, RowsOfOneElement) {
  reduces<int32_t>("ReduceL2", {-7}, 7);
  reduces<int32_t>("ReduceL2", {INT32_MIN}, INT32_MAX);
  reduces<int64_t>("ReduceL2", {LOW}, HIGH);
  reduces<int64_t>("ReduceL2", {LOW + 1}, HIGH);
  reduces<uint32_t>("ReduceL2", {UINT32_MAX}, UINT32_MAX);
  reduces<uint64_t>("ReduceL2", {UINT64_MAX}, UINT64_MAX);
  reduces<int64_t>("ReduceL1", {-5}, 5);
  reduces<int32_t>("ReduceSumSquare", {-3}, 9);
  reduces<int32_t>("ReduceLogSum", {20}, 2);
  reduces<float>("ReduceL2", {-1.5F}, 1.5F);
  reduces<double>("ReduceL2", {-1e200}, 1e200);
  reduces<float>("ReduceL1", {-2.5F}, 2.5F);
  reduces<float>("ReduceSumSquare", {-2.5F}, 6.25F);
  reduces<float>("ReduceLogSum", {1}, 0);
}

} // namespace
