// MaxPool, AveragePool and GlobalAveragePool against plain loops.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::Draw;
using lk::OpTester;
using lk::random;
using lk::Value;
using lk::ref::Pool;
using lk::ref::Window;

// ceil_mode: one more window where there is a rest, unless it would begin in the padding at the
// end.
Dims pool_sizes(const Dims &in, const Window &window, bool ceil_mode) {
  Dims out;
  for (size_t i = 0; i < in.size(); i++) {
    int64_t count = 0;
    const int64_t padded = in[i] + window.begin[i] + window.end[i];
    for (int64_t at = 0;; at += window.strides[i], count++) {
      const bool fits = at + window.extent(i) <= padded;
      const bool has_rest = at - window.strides[i] + window.extent(i) < padded;
      const bool begins_inside = at < in[i] + window.begin[i];
      if (!fits && !(ceil_mode && has_rest && begins_inside)) break;
    }
    out.push_back(count);
  }
  return out;
}

void check(Draw &draw, size_t spatial, Pool kind) {
  Window window;
  Dims x_dims = {draw.in(1, 3), draw.in(1, 9)};
  const bool dilated = draw.maybe();
  for (size_t i = 0; i < spatial; i++) {
    window.kernel.push_back(draw.in(1, 4));
    window.strides.push_back(draw.in(1, 3));
    window.dilations.push_back(dilated ? draw.in(1, 3) : 1);
    window.begin.push_back(draw.in(0, window.kernel[i] - 1));
    window.end.push_back(draw.in(0, window.kernel[i] - 1));
    x_dims.push_back(window.extent(i) + draw.in(0, spatial == 3 ? 4 : 9));
  }
  const std::string auto_pad =
      draw.of<std::string>({"", "", "", "SAME_UPPER", "SAME_LOWER", "VALID"});
  const bool ceil_mode = draw.maybe();
  if (!auto_pad.empty()) {
    window.begin.assign(spatial, 0);
    window.end.assign(spatial, 0);
  }
  const Dims in = lk::ref::spatial(x_dims);
  if (auto_pad.size() > 5) lk::ref::same_padding(in, auto_pad == "SAME_UPPER", &window);
  Dims out = pool_sizes(in, window, ceil_mode && auto_pad.empty());
  SCOPED_TRACE("x " + lk::text_of(x_dims) + ", kernel " + lk::text_of(window.kernel) +
               ", strides " + lk::text_of(window.strides) + ", dilations " +
               lk::text_of(window.dilations) + ", pads " + lk::text_of(window.begin) +
               lk::text_of(window.end) + " " + auto_pad + (ceil_mode ? " ceil" : "") +
               (kind == Pool::MEAN_WITH_PADDING ? " with padding" : ""));
  const Value x = random(x_dims, draw.seed());
  OpTester tester(kind == Pool::MAX ? "MaxPool" : "AveragePool", 19);
  tester.attr_ints("kernel_shape", window.kernel).attr_ints("strides", window.strides);
  if (dilated) tester.attr_ints("dilations", window.dilations);
  if (auto_pad.empty())
    tester.attr_ints("pads", window.pads());
  else
    tester.attr_text("auto_pad", auto_pad);
  if (ceil_mode) tester.attr("ceil_mode", 1);
  if (kind == Pool::MEAN_WITH_PADDING) tester.attr("count_include_pad", 1);
  tester.input(x, draw.layout(x_dims.size())).wish(draw.wish(x_dims.size()));
  tester.expect(lk::ref::pool(x, kind, window, out)).run();
}

void check_all(Pool kind) {
  lk::check_windows(30, [&](Draw &draw, size_t spatial) { check(draw, spatial, kind); });
}

TEST(MaxPool, MatchesPlainLoops) {
  check_all(Pool::MAX);
}
TEST(AveragePool, MatchesPlainLoops) {
  check_all(Pool::MEAN);
}
TEST(AveragePool, CountsPaddingWhenAsked) {
  check_all(Pool::MEAN_WITH_PADDING);
}

// torch.nn.MaxPool2d(1, stride=2, ceil_mode=True) and the case of the ONNX test suite.
// Not the product with a third, which is another number for one in three of these.
TEST(AveragePool, IsTheQuotientToTheBit) {
  std::vector<float> x(300), means(100);
  for (size_t i = 0; i < means.size(); i++) {
    x[3 * i] = static_cast<float>(i);
    means[i] = static_cast<float>(i) / 3;
  }
  OpTester("AveragePool", 11)
      .attr_ints("kernel_shape", {3})
      .attr_ints("strides", {3})
      .input(lk::floats({1, 1, 300}, x))
      .within(lk::EXACTLY)
      .expect(lk::floats({1, 1, 100}, means))
      .run();
}

TEST(MaxPool, RoundsUp) {
  OpTester("MaxPool", 12)
      .attr_ints("kernel_shape", {3, 3})
      .attr_ints("strides", {2, 2})
      .attr("ceil_mode", 1)
      .input(lk::floats({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}))
      .expect(lk::floats({1, 1, 2, 2}, {11, 12, 15, 16}))
      .run();
  OpTester("MaxPool", 12)
      .attr_ints("kernel_shape", {1, 1})
      .attr_ints("strides", {2, 2})
      .attr("ceil_mode", 1)
      .input(lk::floats({1, 1, 2, 2}, {1, 2, 3, 4}))
      .expect(lk::floats({1, 1, 1, 1}, {1}))
      .run();
}

// The last windows hold 2 and 1 of 3 columns (rows): what ceil_mode adds is not counted.
TEST(AveragePool, CountsPaddingAsFarAsItIsDeclared) {
  const Value x = lk::floats({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  const Value y = lk::floats({1, 1, 2, 2}, {6, 7.5F, 12, 13.5F});
  const auto pool = [&x](bool post_ops) {
    OpTester tester("AveragePool", 19);
    tester.attr_ints("kernel_shape", {3, 3}).attr_ints("strides", {2, 2});
    tester.attr("ceil_mode", 1).attr("count_include_pad", 1).input(x);
    if (post_ops) tester.input(lk::floats({1, 1, 2, 2}, {10, 10, 20, 20}));
    return tester;
  };
  pool(false).expect(y).run();
  // Post-ops come after the correction.
  pool(true)
      .post_op(LK_POST_LINEAR, 2, 1)
      .post_op(LK_POST_ADD, 0, 0, 1)
      .expect(lk::floats({1, 1, 2, 2}, {23, 26, 45, 48}))
      .run();
}

// ONNX: with auto_pad VALID, ceil((in - kernel + 1) / stride), which rounds down.
TEST(MaxPool, RoundsDownWithoutPadding) {
  OpTester("MaxPool", 12)
      .attr_ints("kernel_shape", {3})
      .attr_ints("strides", {2})
      .attr_text("auto_pad", "VALID")
      .attr("ceil_mode", 1)
      .input(lk::floats({1, 1, 4}, {1, 2, 3, 4}))
      .expect(lk::floats({1, 1, 1}, {3}))
      .run();
}

// Large enough for more than one thread, in both layouts.
TEST(Pool, DilatedWindowsOfLargeTensors) {
  const Window window = {{3, 3}, {1, 2}, {2, 3}, {2, 1}, {0, 2}};
  const Value x = random({2, 12, 33, 34}, 3);
  const Dims out = pool_sizes({33, 34}, window, false);
  for (Pool kind : {Pool::MAX, Pool::MEAN, Pool::MEAN_WITH_PADDING}) {
    for (lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
      OpTester tester(kind == Pool::MAX ? "MaxPool" : "AveragePool", 19);
      if (kind == Pool::MEAN_WITH_PADDING) tester.attr("count_include_pad", 1);
      tester.attr_ints("kernel_shape", window.kernel)
          .attr_ints("strides", window.strides)
          .attr_ints("dilations", window.dilations)
          .attr_ints("pads", {2, 1, 0, 2})
          .input(x, layout)
          .expect_layout(layout)
          .expect(lk::ref::pool(x, kind, window, out))
          .run();
    }
  }
}

// Post-ops of all kinds on what plain C has computed.
TEST(MaxPool, DilatedWindowsTakePostOps) {
  const Value x = random({1, 3, 9, 9}, 5), other = random({1, 3, 5, 5}, 6);
  const Window window = {{3, 3}, {1, 1}, {2, 2}, {0, 0}, {0, 0}};
  Value y = lk::ref::pool(x, Pool::MAX, window, {5, 5});
  for (const lk_post_op &op : {lk_post_op{LK_POST_LINEAR, -1, 3, -1}, {LK_POST_MUL, 1, 0, 0}}) {
    y = lk::ref::apply(y, op, &other);
  }
  for (lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    OpTester("MaxPool", 12)
        .attr_ints("kernel_shape", {3, 3})
        .attr_ints("dilations", {2, 2})
        .input(x, layout)
        .input(other)
        .post_op(LK_POST_LINEAR, 3, -1)
        .post_op(LK_POST_MUL, 0, 0, 1)
        .expect(y)
        .run();
  }
}

TEST(MaxPool, FindsNegativeNumbersBesidePadding) {
  OpTester("MaxPool", 12)
      .attr_ints("kernel_shape", {3})
      .attr_ints("pads", {1, 1})
      .input(lk::floats({1, 1, 3}, {-3, -2, -5}))
      .expect(lk::floats({1, 1, 3}, {-2, -2, -2}))
      .run();
}

TEST(GlobalAveragePool, MatchesPlainLoops) {
  Draw draw(1);
  for (size_t spatial = 1; spatial <= 3; spatial++) {
    for (int i = 0; i < 10; i++) {
      Dims dims = draw.dims(2 + spatial, 1, 9);
      SCOPED_TRACE(lk::text_of(dims));
      const Dims in = lk::ref::spatial(dims), ones(spatial, 1), none(spatial, 0);
      const Value x = random(dims, draw.seed());
      OpTester("GlobalAveragePool", 7)
          .input(x, draw.layout(dims.size()))
          .wish(draw.wish(dims.size()))
          .expect(lk::ref::pool(x, Pool::MEAN, {in, ones, ones, none, none}, ones))
          .run();
    }
  }
}

TEST(Pool, OfNothingIsNothing) {
  for (const char *op : {"MaxPool", "AveragePool"}) {
    OpTester(op, 12)
        .attr_ints("kernel_shape", {2, 2})
        .input(lk::floats({0, 3, 4, 4}, {}))
        .expect(lk::floats({0, 3, 3, 3}, {}))
        .run();
  }
  OpTester("GlobalAveragePool", 7)
      .input(lk::floats({0, 3, 4, 4}, {}))
      .expect(lk::floats({0, 3, 1, 1}, {}))
      .run();
}

TEST(Pool, TakesStridesOfUpTo31Bits) {
  const Value x = lk::floats({1, 1, 2, 2}, {3, 4, 5, 6});
  constexpr int64_t most = INT32_MAX;
  for (const char *op : {"MaxPool", "AveragePool"}) {
    const auto pool = [&](int64_t stride) {
      return OpTester(op, 12)
          .attr_ints("kernel_shape", {1, 1})
          .attr_ints("strides", {1, stride})
          .input(x)
          .expect(lk::floats({1, 1, 2, 1}, {3, 5}));
    };
    pool(most).run();
    pool(most + 1).expect_create(LK_OUT_OF_RANGE,
                                 "'strides' has the value 2147483648, 1 to 2147483647 are allowed");
  }
}

TEST(Pool, NamesWhatIsWrong) {
  const Value x = random({1, 2, 5, 5}, 1);
  const auto pool = [](const char *op, const Value &value) {
    OpTester tester(op, 12);
    tester.input(value);
    return tester;
  };
  pool("MaxPool", x).expect_create(LK_INVALID_ARGUMENT, "'kernel_shape' is missing");
  pool("MaxPool", x)
      .attr_ints("kernel_shape", {2})
      .expect_bind(LK_INVALID_ARGUMENT, "'kernel_shape' has 1 values");
  pool("MaxPool", x)
      .attr_ints("kernel_shape", {7, 2})
      .expect_bind(LK_INVALID_ARGUMENT,
                   "the window of 7 must exceed that by less than two strides");
  for (const char *op : {"MaxPool", "AveragePool"}) {
    pool(op, lk::iota<int64_t>({1, 2, 5, 5}))
        .attr_ints("kernel_shape", {2, 2})
        .expect_bind(LK_UNSUPPORTED, "i64");
  }
  pool("AveragePool", lk::iota<uint8_t>({1, 2, 5, 5}))
      .attr_ints("kernel_shape", {2, 2})
      .expect_bind(LK_UNSUPPORTED, "u8");
  pool("AveragePool", random({2, 5}, 1))
      .attr_ints("kernel_shape", {2})
      .expect_bind(LK_INVALID_ARGUMENT, "rank 2");
  pool("GlobalAveragePool", random({2, 5}, 1)).expect_bind(LK_INVALID_ARGUMENT, "rank 2");
  pool("GlobalAveragePool", lk::iota<int8_t>({1, 2, 5})).expect_bind(LK_UNSUPPORTED, "i8");
  pool("AveragePool", x)
      .attr_ints("kernel_shape", {2, 2})
      .expect(x)
      .expect(x)
      .expect_create(LK_INVALID_ARGUMENT, "2 outputs");
}

// Without ceil_mode, a window that reaches beyond the padding is larger than the whole input.
// Before opset 19 it counts as a whole.
TEST(AveragePool, OfAWindowThatIsLargerThanItsInput) {
  for (const int32_t opset : {11, 19}) {
    OpTester("AveragePool", opset)
        .input(lk::floats({1, 1, 3}, {3, 6, 9}))
        .attr_ints("kernel_shape", {4})
        .attr_ints("strides", {2})
        .attr("count_include_pad", 1)
        .expect(lk::floats({1, 1, 1}, {opset < 19 ? 4.5F : 6.0F}))
        .run();
  }
}

} // namespace
