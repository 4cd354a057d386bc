// Arithmetic on integers and f64, and powers with an exponent tensor: results by hand.
#include <cmath>

#include "tests/harness/op_tester.h"
#include "tests/ops/numbers.h"

namespace {

using lk::ints;
using lk::iota;
using lk::OpTester;
using lk::tensor;
using lk::Value;

template <typename T> Value list(const std::vector<T> &values) {
  return tensor<T>({static_cast<int64_t>(values.size())}, values);
}

void binary(const char *op, const Value &a, const Value &b, const Value &expected) {
  OpTester(op, 14).input(a).input(b).expect(expected).run();
}

template <typename T> void small_numbers() {
  const Value a = list<T>({7, 9, 100, 0}), b = list<T>({2, 3, 7, 5});
  binary("Add", a, b, list<T>({9, 12, 107, 5}));
  binary("Sub", a, list<T>({2, 9, 7, 0}), list<T>({5, 0, 93, 0}));
  binary("Mul", list<T>({7, 9, 12, 0}), b, list<T>({14, 27, 84, 0}));
  binary("Pow", list<T>({7, 5, 1, 0}), b, list<T>({49, 125, 1, 0}));
}

TEST(IntegerBinary, EveryType) {
  small_numbers<int8_t>();
  small_numbers<uint8_t>();
  small_numbers<int16_t>();
  small_numbers<uint16_t>();
  small_numbers<int32_t>();
  small_numbers<uint32_t>();
  small_numbers<int64_t>();
  small_numbers<uint64_t>();
  small_numbers<double>();
}

TEST(IntegerBinary, WrapsAround) {
  binary("Add", list<int8_t>({127, -128}), list<int8_t>({1, -1}), list<int8_t>({-128, 127}));
  binary("Add", list<int64_t>({INT64_MAX}), ints({1}), list<int64_t>({INT64_MIN}));
  binary("Sub", list<uint32_t>({0}), list<uint32_t>({1}), list<uint32_t>({UINT32_MAX}));
  binary("Mul", list<uint16_t>({65535}), list<uint16_t>({65535}), list<uint16_t>({1}));
  binary("Mul", list<int32_t>({INT32_MIN}), list<int32_t>({-1}), list<int32_t>({INT32_MIN}));
  binary("Mul", list<int64_t>({INT64_MIN}), ints({-1}), list<int64_t>({INT64_MIN}));
}

TEST(IntegerBinary, DivisionTruncatesTowardZero) {
  binary("Div", ints({7, -7, 7, -7, 0}), ints({2, 2, -2, -2, 3}), ints({3, -3, -3, 3, 0}));
  binary("Div", list<uint8_t>({255}), list<uint8_t>({2}), list<uint8_t>({127}));
  binary("Div", list<int32_t>({INT32_MIN, INT32_MIN}), list<int32_t>({-1, 1}),
         list<int32_t>({INT32_MIN, INT32_MIN}));
  binary("Div", list<int64_t>({INT64_MIN}), ints({-1}), list<int64_t>({INT64_MIN}));
  binary("Div", list<int8_t>({-128}), list<int8_t>({-1}), list<int8_t>({-128}));
  binary("Div", list<double>({1}), list<double>({0}), list<double>({INFINITY}));
}

TEST(IntegerBinary, DivisionByZeroFailsWhenItRuns) {
  OpTester("Div", 14)
      .input(ints({1, 2}))
      .input(ints({1, 0}))
      .expect_run(LK_INVALID_ARGUMENT, "divisor is 0");
  OpTester("Div", 14)
      .input(list<uint8_t>({1}))
      .input(list<uint8_t>({0}))
      .expect_run(LK_INVALID_ARGUMENT, "divisor is 0");
}

TEST(IntegerBinary, Broadcasts) {
  const Value x = iota<int64_t>({2, 3});
  binary("Add", x, tensor<int64_t>({}, {10}), tensor<int64_t>({2, 3}, {10, 11, 12, 13, 14, 15}));
  binary("Mul", tensor<int64_t>({2, 1}, {2, 3}), ints({1, 10, 100}),
         tensor<int64_t>({2, 3}, {2, 20, 200, 3, 30, 300}));
  binary("Sub", ints({100}), x, tensor<int64_t>({2, 3}, {100, 99, 98, 97, 96, 95}));
  // Against a loop, with ones in the middle on both sides.
  const Value a = iota<int32_t>({2, 1, 3, 1, 2}), b = iota<int32_t>({4, 1, 5, 1});
  std::vector<int32_t> sum;
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 4; j++) {
      for (int k = 0; k < 3; k++) {
        for (int l = 0; l < 5; l++) {
          for (int m = 0; m < 2; m++) sum.push_back((i * 3 + k) * 2 + m + j * 5 + l);
        }
      }
    }
  }
  binary("Add", a, b, tensor<int32_t>({2, 4, 3, 5, 2}, sum));
  binary("Add", tensor<int64_t>({0, 3}, {}), ints({1, 2, 3}), tensor<int64_t>({0, 3}, {}));
}

TEST(IntegerBinary, InPlace) {
  OpTester("Add", 14)
      .input(ints({1, 2}))
      .input(ints({10}))
      .in_place(0)
      .expect(ints({11, 12}))
      .run();
}

TEST(IntegerBinary, RefusesDifferentTypes) {
  OpTester("Add", 14)
      .input(ints({1}))
      .input(list<int32_t>({1}))
      .expect_bind(LK_INVALID_ARGUMENT, "i32");
}

TEST(Pow, ExponentTensorOfAnyType) {
  binary("Pow", lk::floats({4}, {2, 9, 4, -2}), lk::floats({4}, {10, 0.5f, -0.5f, 3}),
         lk::floats({4}, {1024, 3, 0.5f, -8}));
  binary("Pow", lk::floats({2, 1}, {2, 3}), ints({0, 1, 4}),
         lk::floats({2, 3}, {1, 2, 16, 1, 3, 81}));
  binary("Pow", list<int32_t>({2, 3, -2}), lk::floats({3}, {3, 2, 2}), list<int32_t>({8, 9, 4}));
  binary("Pow", ints({10, 9}), lk::floats({2}, {0.5f, 0.5f}), ints({3, 3}));
  binary("Pow", list<double>({2}), list<int8_t>({-2}), list<double>({0.25}));
  binary("Pow", lk::floats({2}, {2, 3}), list<double>({2, 3}), lk::floats({2}, {4, 27}));
}

// Each type to the power of each: what C has, where integers wrap around.
TEST(Pow, OfEveryPairOfTypes) {
  const uint32_t types[] = {LK_I8,  LK_I16, LK_I32, LK_I64, LK_U8,
                            LK_U16, LK_U32, LK_U64, LK_F32, LK_F64};
  const std::vector<double> bases = {0, 1, 2, 3, 5, 10}, powers = {0, 1, 2, 2, 3, 2};
  std::vector<double> results;
  for (size_t i = 0; i < bases.size(); i++) results.push_back(std::pow(bases[i], powers[i]));
  for (uint32_t base : types) {
    for (uint32_t power : types) {
      SCOPED_TRACE(std::to_string(base) + " and " + std::to_string(power));
      binary("Pow", lk::numbers(base, {6}, bases), lk::numbers(power, {6}, powers),
             lk::numbers(base, {6}, results));
      if (HasFatalFailure()) return;
    }
  }
  binary("Pow", list<uint8_t>({10, 200}), list<int64_t>({3, 2}), list<uint8_t>({232, 64}));
  binary("Pow", list<int32_t>({7, 3}), list<uint64_t>({2, 41}), list<int32_t>({49, 2069870691}));
  binary("Pow", list<uint64_t>({UINT64_MAX, UINT64_MAX, 1}), list<int32_t>({-1, 2, -5}),
         list<uint64_t>({0, 1, 1}));
  binary("Pow", list<int8_t>({-1, 1, 5}), list<int16_t>({-3, -3, -3}), list<int8_t>({-1, 1, 0}));
  binary("Pow", list<uint64_t>({UINT64_C(1) << 62}), lk::floats({1}, {1}),
         list<uint64_t>({UINT64_C(1) << 62}));
}

TEST(Pow, OfAConstantTwoIsASquare) {
  const Value two[] = {tensor<int64_t>({}, {2}), lk::floats({1}, {2}), tensor<double>({1, 1}, {2})};
  for (const Value &exponent : two) {
    const lk::Dims dims = exponent.dims().size() == 2 ? lk::Dims{1, 3} : lk::Dims{3};
    OpTester("Pow", 15)
        .input(lk::floats({3}, {-3, 0, INFINITY}))
        .constant(exponent)
        .expect(lk::floats(dims, {9, 0, INFINITY}))
        .run();
  }
}

// As in ONNX Runtime and ONNX's reference, which convert what the real numbers give.
TEST(Pow, OfI32ByRealsIsTheLeastWhereItDoesNotFit) {
  const int32_t low = INT32_MIN, high = INT32_MAX;
  const auto bases = list<int32_t>({low, high, 2, 46341, -3, 0, 46340});
  const auto expected = list<int32_t>({low, low, low, low, low, low, 2147395600});
  binary("Pow", bases, lk::floats({7}, {2, 2, 32, 2, 2.5f, -1, 2}), expected);
  binary("Pow", bases, list<double>({2, 2, 32, 2, 2.5, -1, 2}), expected);
}

TEST(Pow, OfIntegersIsExactAndWraps) {
  binary("Pow", ints({3, -3, 2}), ints({39, 3, 64}), ints({4052555153018976267, -27, 0}));
  binary("Pow", ints({1, -1, -1, 5}), ints({-7, -7, -8, -1}), ints({1, -1, 1, 0}));
  OpTester("Pow", 13)
      .input(ints({0}))
      .input(ints({-1}))
      .expect_run(LK_INVALID_ARGUMENT, "negative power");
}

void each_is_required(const char *op, const Value &x) {
  OpTester(op, 13).input(x).absent().input(x).expect_create(LK_INVALID_ARGUMENT,
                                                            "input 1 is absent");
  OpTester(op, 13).input(x).input(x).absent().expect_create(LK_INVALID_ARGUMENT,
                                                            "input 2 is absent");
}

TEST(Variadic, EachInputIsRequired) {
  for (const char *op : {"Max", "Min", "Sum", "Mean"}) each_is_required(op, list<float>({1, 2}));
  for (const char *op : {"Max", "Min"}) each_is_required(op, list<int32_t>({1, 2}));
}

} // namespace
