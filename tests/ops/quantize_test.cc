// QuantizeLinear and DequantizeLinear: layouts, and what is refused. tests/rows has the numbers.
#include "tests/ops/numbers.h"
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::numbers;
using lk::OpTester;
using lk::Value;

const Dims shape = {2, 4, 2, 3};

std::vector<double> counted() {
  std::vector<double> values;
  for (int i = 0; i < 48; i++) values.push_back(i);
  return values;
}

// What `scale(at)` makes of the counted tensor.
std::vector<double> times(const std::function<double(const Dims &)> &scale) {
  std::vector<double> values;
  lk::ref::each(shape, [&](const Dims &at) {
    values.push_back(static_cast<double>(lk::ref::offset(shape, at)) * scale(at));
  });
  return values;
}

// Both ways between `real` and the counted tensor as bytes.
void check(lk_layout layout, const std::vector<double> &real, const Value &scale,
           const std::function<OpTester(OpTester)> &expected, const Dims &block = {}) {
  const Value x = numbers(LK_F32, shape, real), bytes = numbers(LK_U8, shape, counted());
  for (const bool quantizes : {true, false}) {
    OpTester tester(quantizes ? "QuantizeLinear" : "DequantizeLinear", 21);
    tester.attr("axis", 1);
    if (!block.empty()) tester.attr_ints("block_size", block);
    tester.input(quantizes ? x : bytes, layout).input(scale).expect(quantizes ? bytes : x);
    expected(tester).run();
  }
}

TEST(Quantize, AlongAnAxisStaysInItsLayout) {
  const auto real = times([](const Dims &at) { return std::exp2(double(at[1]) - 1); });
  for (const lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    check(layout, real, lk::floats({4}, {0.5F, 1, 2, 4}),
          [&](OpTester tester) { return tester.expect_layout(layout).expect_reorders(0); });
  }
}

TEST(Quantize, InBlocksIsPlainWhateverTheLayout) {
  const auto real = times([](const Dims &at) { return std::exp2(double(at[1] / 2) - 1); });
  std::vector<double> scales;
  for (const double scale : {0.5, 1., 0.5, 1.}) scales.insert(scales.end(), 6, scale);
  for (const lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    check(layout, real, numbers(LK_F32, {2, 2, 2, 3}, scales),
          [](OpTester tester) { return tester.expect_layout(LK_LAYOUT_PLAIN); }, {2});
  }
}

// Also where the lower 32 or 8 bits are those of a type.
TEST(Quantize, RefusesTypesThatAreNone) {
  const int64_t high = int64_t{1} << 32;
  for (const char *op : {"QuantizeLinear", "DequantizeLinear"}) {
    for (const int64_t type : {int64_t{255}, int64_t{256 + LK_U8}, high + LK_U8, high + LK_F32,
                               LK_U8 - high, int64_t{-1}, INT64_MIN, INT64_MAX}) {
      OpTester(op, 25)
          .attr("output_dtype", type)
          .input(lk::floats({1}, {1}))
          .input(lk::floats({1}, {1}))
          .expect_create(LK_UNSUPPORTED, "attribute 'output_dtype' is " + std::to_string(type) +
                                             " (no element type of ONNX); ");
    }
  }
}

// NaN is the least number of the type, whichever kernel quantizes, and infinities the ends.
TEST(Quantize, OfWhatIsNoFiniteNumber) {
  const std::vector<double> some = {1, NAN, INFINITY, -INFINITY, -7, 60000, NAN, -60000};
  struct Type {
    uint32_t dtype;
    double least, most;
  };
  for (const Type &type : {Type{LK_U8, 0, 255}, Type{LK_I8, -128, 127}, Type{LK_U16, 0, 65535},
                           Type{LK_I16, -32768, 32767}}) {
    for (const uint32_t real : {uint32_t(LK_F32), uint32_t(LK_F16)}) {
      for (const int64_t row : {1, 3, 37, 64}) { // short ones go another way than long ones
        for (const bool by_channel : {false, true}) {
          std::vector<double> x, y, zeros, scales;
          for (int64_t i = 0; i < 4 * row; i++) {
            const double value = some[size_t(i * 5) % some.size()];
            x.push_back(value);
            // NaN is less than nothing
            y.push_back(value > type.least - 3 ? std::min(value + 3, type.most) : type.least);
          }
          const int64_t channels = by_channel ? 4 : 1;
          for (int64_t i = 0; i < channels; i++) scales.push_back(1), zeros.push_back(3);
          SCOPED_TRACE("type " + std::to_string(type.dtype) + " of " + std::to_string(real) +
                       ", rows of " + std::to_string(row));
          OpTester("QuantizeLinear", 21)
              .attr("axis", 0)
              .input(numbers(real, {4, row}, x))
              .input(numbers(real, {channels}, scales))
              .input(numbers(type.dtype, {channels}, zeros))
              .expect(numbers(type.dtype, {4, row}, y))
              .run();
        }
      }
    }
  }
}

} // namespace
