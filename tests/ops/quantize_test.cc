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
                                             ", which is not supported");
    }
  }
}

} // namespace
