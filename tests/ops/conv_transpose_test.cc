// ConvTranspose against plain loops that scatter: groups, strides, dilations, padding, and the
// three ways to say how large the output is.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::Draw;
using lk::OpTester;
using lk::random;
using lk::Value;
using lk::ref::Window;

enum class Size { PADS, OUTPUT_PADDING, OUTPUT_SHAPE, SAME_UPPER, SAME_LOWER };

void check(Draw &draw, size_t spatial, Size size) {
  const int64_t groups = draw.of<int64_t>({1, 1, 2, 3});
  const int64_t in = groups * draw.in(1, 4), out = draw.in(1, 4);
  Window window;
  Dims x_dims = {draw.in(1, 2), in}, w_dims = {in, out}, sizes, extra;
  for (size_t i = 0; i < spatial; i++) {
    window.kernel.push_back(draw.in(1, spatial == 3 ? 2 : 4));
    window.strides.push_back(draw.in(1, 3));
    window.dilations.push_back(draw.in(1, 2));
    x_dims.push_back(draw.in(2, spatial == 3 ? 3 : 6));
    w_dims.push_back(window.kernel[i]);
    extra.push_back(size == Size::OUTPUT_PADDING ? draw.in(0, window.strides[i] - 1) : 0);
    const int64_t full = (x_dims[2 + i] - 1) * window.strides[i] + window.extent(i) + extra[i];
    int64_t begin = 0, end = 0;
    if (size == Size::PADS || size == Size::OUTPUT_PADDING) {
      begin = draw.in(0, std::min<int64_t>(window.extent(i) - 1, full / 2 - 1));
      end = draw.in(0, std::min<int64_t>(window.extent(i) - 1, full / 2 - 1));
    } else {
      const bool same = size != Size::OUTPUT_SHAPE;
      const int64_t wanted = same ? x_dims[2 + i] * window.strides[i]
                                  : std::max<int64_t>(1, full - draw.in(0, window.extent(i) - 1));
      const int64_t total = std::max<int64_t>(0, full - wanted);
      // The specification: the greater half at the end with SAME_UPPER, else at the beginning.
      begin = size == Size::SAME_UPPER ? total / 2 : total - total / 2;
      end = full - begin - wanted;
    }
    window.begin.push_back(begin);
    window.end.push_back(end);
    sizes.push_back(full - begin - end);
  }
  SCOPED_TRACE("x " + lk::text_of(x_dims) + ", w " + lk::text_of(w_dims) + ", groups " +
               std::to_string(groups) + ", strides " + lk::text_of(window.strides) +
               ", dilations " + lk::text_of(window.dilations) + ", pads " +
               lk::text_of(window.begin) + lk::text_of(window.end) + ", sizes " +
               lk::text_of(sizes));
  const Value x = random(x_dims, draw.seed()), w = random(w_dims, draw.seed());
  const Value b = random({out * groups}, draw.seed());
  const bool bias = draw.maybe(), constant = draw.maybe();
  OpTester tester("ConvTranspose", 11);
  tester.attr("group", groups).attr_ints("strides", window.strides);
  tester.attr_ints("dilations", window.dilations);
  switch (size) {
  case Size::OUTPUT_PADDING:
    tester.attr_ints("output_padding", extra);
    [[fallthrough]];
  case Size::PADS:
    tester.attr_ints("pads", window.pads());
    break;
  case Size::OUTPUT_SHAPE:
    tester.attr_ints("output_shape", sizes);
    break;
  default:
    tester.attr_text("auto_pad", size == Size::SAME_UPPER ? "SAME_UPPER" : "SAME_LOWER");
  }
  tester.input(x, draw.layout(x_dims.size()));
  if (constant)
    tester.constant(w);
  else
    tester.input(w);
  if (bias) tester.input(b);
  tester.wish(draw.wish(x_dims.size()));
  tester.expect(lk::ref::conv_transpose(x, w, bias ? &b : nullptr, window, groups, sizes)).run();
}

void check_all(Size size) {
  lk::check_windows(7, [&](Draw &draw, size_t spatial) { check(draw, spatial, size); });
}

TEST(ConvTranspose, MatchesPlainLoops) {
  check_all(Size::PADS);
}
TEST(ConvTranspose, AddsOutputPadding) {
  check_all(Size::OUTPUT_PADDING);
}
TEST(ConvTranspose, ReachesAnOutputShape) {
  check_all(Size::OUTPUT_SHAPE);
}
TEST(ConvTranspose, PadsToASizeThatStridesFit) {
  check_all(Size::SAME_UPPER);
  check_all(Size::SAME_LOWER);
}

TEST(ConvTranspose, OfNothingIsNothing) {
  OpTester("ConvTranspose", 11)
      .input(lk::floats({0, 2, 3, 3}, {}))
      .constant(random({2, 4, 2, 2}, 1))
      .attr_ints("strides", {2, 2})
      .expect(lk::floats({0, 4, 6, 6}, {}))
      .run();
}

// Of few channels it is one product, as long as that has 2^24 numbers at most.
TEST(ConvTransposeOfNative, HasTheStepsOfItsSize) {
  const auto steps = [](int64_t columns) {
    const Dims dims = {1, 1, 2048, columns};
    OpTester tester("ConvTranspose", 11);
    tester.input(lk::floats(dims, std::vector<float>(size_t(lk::count_of(dims)))));
    tester.constant(random({1, 1, 2, 2}, 1)).attr_ints("strides", {2, 2}).wish(LK_LAYOUT_PLAIN);
    return tester.work_of_steps().steps;
  };
  EXPECT_EQ(steps(2048), steps(16));
  EXPECT_NE(steps(2049), steps(16));
}

// One element along the first dimension, of padding alone, and so with nothing but the bias.
TEST(ConvTranspose, PadsADimensionOfOneElement) {
  const Window window = {{1, 1, 2}, {3, 3, 2}, {1, 1, 1}, {1, 2, 0}, {0, 2, 1}};
  const Value x = random({1, 40, 1, 3, 4}, 1), w = random({40, 1, 1, 1, 2}, 2);
  const Value b = random({2}, 3);
  for (const lk_layout wish : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    OpTester("ConvTranspose", 11)
        .input(x)
        .constant(w)
        .constant(b)
        .attr("group", 2)
        .attr_ints("strides", window.strides)
        .attr_ints("pads", window.pads())
        .attr_ints("output_padding", {1, 2, 1})
        .wish(wish)
        .expect(lk::ref::conv_transpose(x, w, &b, window, 2, {1, 5, 8}))
        .run();
  }
}

TEST(ConvTranspose, CutsOffUpTo31Bits) {
  constexpr int64_t far = INT32_MAX / 2;
  const auto conv = [](int64_t groups, int64_t size) {
    OpTester tester("ConvTranspose", 11);
    tester.attr("group", groups);
    tester.input(lk::floats({1, groups, size}, std::vector<float>(size_t(size * groups), 3)));
    tester.input(lk::floats({groups, 1, 2}, std::vector<float>(size_t(2 * groups), 5)));
    return tester;
  };
  for (const int64_t groups : {1, 2}) { // as a product, and for each channel
    const Value all = lk::floats({1, groups, 2}, std::vector<float>(size_t(2 * groups), 15));
    conv(groups, 2).attr_ints("dilations", {far}).attr_ints("pads", {far, 0}).expect(all).run();
    conv(groups, 4)
        .attr_ints("strides", {INT32_MAX})
        .attr_ints("output_shape", {1})
        .expect_bind(LK_OUT_OF_RANGE,
                     "3221225471 elements are cut off before spatial dimension 0 of the output, "
                     "at most 2147483647");
  }
}

TEST(ConvTranspose, NamesWhatIsWrong) {
  const Value x = random({1, 4, 5, 5}, 1), w = random({4, 6, 3, 3}, 2);
  const auto conv = [&](const Value &a, const Value &b) {
    OpTester tester("ConvTranspose", 11);
    tester.input(a).input(b);
    return tester;
  };
  conv(x, random({5, 6, 3, 3}, 2)).expect_bind(LK_INVALID_ARGUMENT, "4 channels");
  conv(x, w).attr("group", 3).expect_bind(LK_INVALID_ARGUMENT, "3 groups");
  conv(x, w).attr("group", INT64_MAX).expect_create(LK_OUT_OF_RANGE, "'group' is 9");
  conv(x, w).attr_ints("output_padding", {1}).expect_bind(LK_INVALID_ARGUMENT, "output_padding");
  conv(x, w).attr_ints("output_padding", {-1, 0}).expect_create(LK_OUT_OF_RANGE, "output_padding");
  conv(x, w)
      .attr_ints("output_padding", {INT64_MAX, 0})
      .expect_create(LK_OUT_OF_RANGE, "output_padding");
  conv(x, w).attr_ints("output_shape", {5}).expect_bind(LK_INVALID_ARGUMENT, "output_shape");
  conv(x, w).attr_ints("output_shape", {0, 5}).expect_create(LK_OUT_OF_RANGE, "output_shape");
  conv(x, w)
      .attr_ints("output_shape", {5, INT64_MIN})
      .expect_create(LK_OUT_OF_RANGE, "output_shape");
  conv(x, w).attr_ints("pads", {9, 0, 9, 0}).expect_bind(LK_INVALID_ARGUMENT, "of the output");
  conv(x, w).input(random({5}, 3)).expect_bind(LK_INVALID_ARGUMENT, "bias");
  conv(lk::iota<double>({1, 4, 5, 5}), w).expect_bind(LK_UNSUPPORTED, "f64");
}

} // namespace
