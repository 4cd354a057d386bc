// MaxPool's Indices, and poolings of all element types, against plain loops.
#include "tests/ops/numbers.h"
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::Draw;
using lk::numbers;
using lk::OpTester;
using lk::Value;
using lk::ref::Window;

const std::vector<uint32_t> TYPES = {LK_F32, LK_F64, LK_F16, LK_BF16, LK_U8, LK_I8};

struct Maxima {
  std::vector<double> values, indices;
};

// Of equal elements the first in row-major order; -1: no element at all. With `column_major`, the
// first spatial dimension is the fastest one of an index.
Maxima maxima(const Dims &dims, const std::vector<double> &x, const Window &window, const Dims &out,
              bool column_major) {
  Maxima found;
  Dims to = out;
  to.insert(to.begin(), {dims[0], dims[1]});
  lk::ref::each(to, [&](const Dims &at) {
    double largest = -HUGE_VAL;
    int64_t index = -1;
    lk::ref::each(window.kernel, [&](const Dims &tap) {
      Dims from = {at[0], at[1]};
      for (size_t i = 0; i < tap.size(); i++) {
        from.push_back(at[2 + i] * window.strides[i] + tap[i] * window.dilations[i] -
                       window.begin[i]);
        if (from.back() < 0 || from.back() >= dims[2 + i]) return;
      }
      const double value = x[lk::ref::offset(dims, from)];
      if (index >= 0 && !(value > largest)) return;
      largest = value;
      index = from[0] * dims[1] + from[1];
      for (size_t i = 2; i < dims.size(); i++) index *= dims[i];
      int64_t factor = 1;
      for (size_t i = 2; i < dims.size(); i++) {
        const size_t dim = column_major ? i : dims.size() + 1 - i;
        index += from[dim] * factor;
        factor *= dims[dim];
      }
    });
    found.values.push_back(largest);
    found.indices.push_back(static_cast<double>(index));
  });
  return found;
}

struct Case {
  Dims dims;
  Window window;
  bool column_major = false, indices = true;
  uint32_t dtype = LK_F32;
  std::vector<double> x;
};

OpTester tester_of(const Case &c, lk_layout layout) {
  const Dims out = lk::ref::conv_sizes(lk::ref::spatial(c.dims), c.window);
  const Maxima found = maxima(c.dims, c.x, c.window, out, c.column_major);
  Dims to = out;
  to.insert(to.begin(), {c.dims[0], c.dims[1]});
  OpTester tester("MaxPool", 12);
  tester.attr_ints("kernel_shape", c.window.kernel).attr_ints("strides", c.window.strides);
  tester.attr_ints("dilations", c.window.dilations).attr_ints("pads", c.window.pads());
  tester.attr("storage_order", c.column_major);
  tester.input(numbers(c.dtype, c.dims, c.x), layout).expect(numbers(c.dtype, to, found.values));
  if (c.indices) tester.expect(numbers(LK_I64, to, found.indices));
  return tester;
}

// Few different numbers, so that many are equal; none below 0 for u8.
std::vector<double> draw_numbers(Draw &draw, int64_t count, uint32_t dtype) {
  std::vector<double> x;
  for (int64_t i = 0; i < count; i++) {
    x.push_back(static_cast<double>(draw.in(dtype == LK_U8 ? 0 : -4, 4)));
  }
  return x;
}

TEST(MaxPool, TakesAllTypesAndSaysWhereTheMaximumLies) {
  int i = 0;
  lk::check_windows(48, [&](Draw &draw, size_t spatial) {
    Case c;
    c.dtype = TYPES[static_cast<size_t>(i++) % TYPES.size()];
    c.indices = draw.in(0, 3) > 0;
    c.column_major = draw.maybe();
    c.dims = {draw.in(1, 3), draw.in(1, 9)};
    for (size_t k = 0; k < spatial; k++) {
      c.window.kernel.push_back(draw.in(1, 4));
      c.window.strides.push_back(draw.in(1, 3));
      c.window.dilations.push_back(draw.in(0, 2) > 0 ? 1 : draw.in(1, 3));
      c.window.begin.push_back(draw.in(0, c.window.kernel[k] - 1));
      c.window.end.push_back(draw.in(0, c.window.kernel[k] - 1));
      c.dims.push_back(c.window.extent(k) + draw.in(0, spatial == 3 ? 3 : 8));
    }
    c.x = draw_numbers(draw, lk::count_of(c.dims), c.dtype);
    SCOPED_TRACE("type " + std::to_string(c.dtype) + " x " + lk::text_of(c.dims) + ", kernel " +
                 lk::text_of(c.window.kernel) + ", strides " + lk::text_of(c.window.strides) +
                 ", dilations " + lk::text_of(c.window.dilations) + ", pads " +
                 lk::text_of(c.window.begin) + lk::text_of(c.window.end) +
                 (c.column_major ? " column-major" : ""));
    OpTester tester = tester_of(c, draw.layout(c.dims.size()));
    tester.wish(draw.wish(c.dims.size())).run();
  });
}

// Many positions; shapes that are worth two threads.
TEST(MaxPool, FindsPositionsInLargeKernelsAndTensors) {
  for (int64_t dilation : {1, 2}) {
    for (lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
      SCOPED_TRACE(dilation);
      Draw draw(7);
      Case c;
      c.dims = {2, 3, 37, 35};
      c.window = {{16, 17}, {1, 2}, {dilation, dilation}, {3, 0}, {0, 5}};
      c.x = draw_numbers(draw, lk::count_of(c.dims), LK_F32);
      tester_of(c, layout).run();
      c.dims = {1, 20, 40, 41};
      c.window = {{3, 3}, {1, 1}, {dilation, dilation}, {1, 1}, {1, 1}};
      c.x = draw_numbers(draw, lk::count_of(c.dims), LK_F32);
      tester_of(c, layout).run();
    }
  }
}

// The maximum of minus infinities is the first of them, also beside padding.
TEST(MaxPool, SaysWhereMinusInfinityLies) {
  for (int64_t dilation : {1, 2}) {
    Case c;
    c.dims = {1, 2, 5, 5};
    c.window = {{2, 2}, {1, 1}, {dilation, dilation}, {1, 1}, {1, 1}};
    c.dtype = dilation == 1 ? LK_F16 : LK_F32;
    c.x.assign(50, -HUGE_VAL);
    tester_of(c, LK_LAYOUT_PLAIN).run();
    c.dims = {1, 2, 4, 5, 3};
    c.window = {{2, 2, 2}, {1, 1, 1}, {dilation, 1, 1}, {0, 1, 0}, {1, 0, 1}};
    c.x.assign(120, -HUGE_VAL);
    tester_of(c, LK_LAYOUT_PLAIN).run();
  }
}

TEST(MaxPool, OfPaddingAloneLiesNowhere) {
  Case c;
  c.dims = {1, 2, 1};
  c.window = {{2}, {1}, {2}, {1}, {1}};
  c.x = {3, 4};
  for (uint32_t dtype : {LK_F32, LK_F64}) {
    c.dtype = dtype;
    tester_of(c, LK_LAYOUT_PLAIN).run();
  }
}

// As it is, in either layout.
TEST(MaxPool, OfInt8StaysInt8) {
  for (uint32_t dtype : {LK_U8, LK_I8}) {
    Draw draw(dtype);
    Case c;
    c.dtype = dtype;
    c.indices = false;
    c.dims = {1, 3, 20, 20};
    c.window = {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}};
    c.x = draw_numbers(draw, lk::count_of(c.dims), dtype);
    for (lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
      tester_of(c, layout).expect_reorders(0).run();
    }
  }
}

// Windows that do not meet the input have the least number of the type.
TEST(MaxPool, OfInt8WithMuchPadding) {
  for (uint32_t dtype : {LK_U8, LK_I8}) {
    const double least = dtype == LK_I8 ? -128 : 0;
    std::vector<double> x, y;
    for (int channel = 0; channel < 100; channel++) {
      x.insert(x.end(), {1, 7, 3, 2});
      y.insert(y.end(), {least, 7, 3, least});
    }
    OpTester("MaxPool", 12)
        .attr_ints("kernel_shape", {2})
        .attr_ints("strides", {2})
        .attr_ints("pads", {2, 2})
        .input(numbers(dtype, {1, 100, 4}, x))
        .expect(numbers(dtype, {1, 100, 4}, y))
        .run();
  }
}

TEST(MaxPool, RefusesKernelsWithTooManyPositions) {
  const int64_t side = 65536, pad = side - 1;
  OpTester("MaxPool", 12)
      .attr_ints("kernel_shape", {side, side})
      .attr_ints("strides", {side, side})
      .attr_ints("pads", {pad, pad, pad, pad})
      .input(lk::iota<float>({1, 1, 2, 2}))
      .expect(lk::iota<float>({1, 1, 2, 2}))
      .expect(lk::iota<int64_t>({1, 1, 2, 2}))
      .expect_bind(LK_OUT_OF_RANGE, "Indices");
}

TEST(MaxPool, OfNothingHasNoIndices) {
  OpTester("MaxPool", 12)
      .attr_ints("kernel_shape", {2})
      .input(lk::floats({0, 3, 4}, {}))
      .expect(lk::floats({0, 3, 3}, {}))
      .expect(lk::tensor<int64_t>({0, 3, 3}, {}))
      .run();
}

// A post-op changes Y, whichever way it is computed, and leaves the indices alone.
TEST(MaxPool, KeepsIndicesThroughPostOps) {
  for (int64_t dilation : {1, 2}) {
    const std::vector<float> y =
        dilation == 1 ? std::vector<float>{9, 9, 7} : std::vector<float>{3, 9};
    std::vector<float> twice;
    for (float value : y) twice.push_back(2 * value + 1);
    const std::vector<int64_t> at =
        dilation == 1 ? std::vector<int64_t>{1, 1, 3} : std::vector<int64_t>{2, 1};
    const Dims dims = {1, 1, static_cast<int64_t>(y.size())};
    OpTester("MaxPool", 12)
        .attr_ints("kernel_shape", {2})
        .attr_ints("dilations", {dilation})
        .input(lk::floats({1, 1, 4}, {1, 9, 3, 7}))
        .post_op(LK_POST_LINEAR, 2, 1)
        .expect(lk::floats(dims, twice))
        .expect(lk::tensor<int64_t>(dims, at))
        .run();
  }
}

// Means that every type holds exactly: kernels of 2 and 4 elements, and small multiples of 4.
TEST(AveragePool, TakesAllFloatingPointTypes) {
  Draw draw(1);
  for (uint32_t dtype : {LK_F32, LK_F64, LK_F16, LK_BF16}) {
    for (int64_t dilation : {1, 2}) {
      for (lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
        const Dims dims = {2, 3, 6, 7};
        const Window window = {{2, 2}, {2, 1}, {dilation, dilation}, {1, 0}, {0, 1}};
        std::vector<float> x;
        for (int64_t i = 0; i < lk::count_of(dims); i++) {
          x.push_back(static_cast<float>(4 * draw.in(-8, 8)));
        }
        const Value y = lk::ref::pool(lk::floats(dims, x), lk::ref::Pool::MEAN_WITH_PADDING, window,
                                      lk::ref::conv_sizes({6, 7}, window));
        const std::vector<float> means = y.as<float>();
        OpTester("AveragePool", 19)
            .attr_ints("kernel_shape", window.kernel)
            .attr_ints("strides", window.strides)
            .attr_ints("dilations", window.dilations)
            .attr_ints("pads", {1, 0, 0, 1})
            .attr("count_include_pad", 1)
            .input(numbers(dtype, dims, {x.begin(), x.end()}), layout)
            .wish(draw.wish(4))
            .expect(numbers(dtype, y.dims(), {means.begin(), means.end()}))
            .run();
      }
    }
    OpTester("GlobalAveragePool", 7)
        .input(numbers(dtype, {1, 2, 2, 2}, {1, 2, 3, 6, -4, 0, 0, 2}))
        .expect(numbers(dtype, {1, 2, 1, 1}, {3, -0.5}))
        .run();
  }
}

} // namespace
