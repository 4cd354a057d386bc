// Conv against plain loops: random shapes, groups, strides, dilations and padding in 1, 2 and 3
// dimensions, plain and channels-last, weights known before and at run time.
#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::Draw;
using lk::OpTester;
using lk::random;
using lk::Value;
using lk::ref::Window;

struct Case {
  Dims x, w;
  Window window;
  int64_t groups = 1;
  std::string auto_pad;
  bool bias = false, constant = true;
  lk_layout layout = LK_LAYOUT_PLAIN, wish = LK_LAYOUT_ANY;

  std::string text() const {
    return "x " + lk::text_of(x) + ", w " + lk::text_of(w) + ", groups " + std::to_string(groups) +
           ", strides " + lk::text_of(window.strides) + ", dilations " +
           lk::text_of(window.dilations) + ", pads " + lk::text_of(window.begin) +
           lk::text_of(window.end) + " " + auto_pad;
  }
};

OpTester tester_of(const Case &c, Value *out_y) {
  const Value x = random(c.x, 1), w = random(c.w, 2), b = random({c.w[0]}, 3);
  OpTester tester("Conv", 11);
  tester.attr("group", c.groups).attr_ints("strides", c.window.strides);
  tester.attr_ints("dilations", c.window.dilations).attr_ints("kernel_shape", c.window.kernel);
  if (c.auto_pad.empty())
    tester.attr_ints("pads", c.window.pads());
  else
    tester.attr_text("auto_pad", c.auto_pad);
  tester.input(x, c.layout);
  if (c.constant)
    tester.constant(w);
  else
    tester.input(w);
  if (c.bias && c.constant)
    tester.constant(b);
  else if (c.bias)
    tester.input(b);
  *out_y = lk::ref::conv(x, w, c.bias ? &b : nullptr, c.window, c.groups);
  tester.within(lk::of_sums(w.count() / c.w[0]));
  return tester;
}

void check(const Case &c) {
  SCOPED_TRACE(c.text());
  Value y;
  OpTester tester = tester_of(c, &y);
  tester.wish(c.wish).expect(y).run();
}

Case draw_case(Draw &draw, size_t spatial) {
  Case c;
  Window &w = c.window;
  c.groups = draw.of<int64_t>({1, 1, 1, 2, 3, 8});
  const int64_t in = c.groups * draw.in(1, 5), out = c.groups * draw.in(1, 5);
  c.x = {draw.in(1, 3), in};
  c.w = {out, in / c.groups};
  for (size_t i = 0; i < spatial; i++) {
    w.kernel.push_back(draw.in(1, spatial == 3 ? 2 : 4));
    w.strides.push_back(draw.in(1, 3));
    w.dilations.push_back(draw.in(1, 2));
    w.begin.push_back(draw.in(0, w.kernel[i] - 1));
    w.end.push_back(draw.in(0, w.kernel[i] - 1));
    c.x.push_back(w.extent(i) + draw.in(0, spatial == 1 ? 20 : spatial == 2 ? 8 : 4));
    c.w.push_back(w.kernel[i]);
  }
  c.auto_pad = draw.of<std::string>({"", "", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  const Dims in_sizes = lk::ref::spatial(c.x);
  if (!c.auto_pad.empty()) {
    w.begin.assign(spatial, 0);
    w.end.assign(spatial, 0);
  }
  if (c.auto_pad.substr(0, 4) == "SAME") {
    lk::ref::same_padding(in_sizes, c.auto_pad == "SAME_UPPER", &w);
  }
  c.bias = draw.maybe();
  c.constant = draw.maybe();
  c.layout = draw.layout(c.x.size());
  c.wish = draw.wish(c.x.size());
  return c;
}

TEST(Conv, MatchesPlainLoops) {
  lk::check_windows(18, [](Draw &draw, size_t spatial) { check(draw_case(draw, spatial)); });
}

Case square(int64_t batch, int64_t in, int64_t out, int64_t size, int64_t kernel, int64_t groups) {
  Case c;
  c.x = {batch, in, size, size};
  c.w = {out, in / groups, kernel, kernel};
  c.groups = groups;
  c.bias = true;
  c.window = {{kernel, kernel}, {1, 1}, {1, 1}, {kernel / 2, kernel / 2}, {kernel / 2, kernel / 2}};
  return c;
}

TEST(Conv, OfTheSizesOfRealNetworks) {
  check(square(1, 3, 16, 24, 3, 1));
  check(square(2, 32, 16, 10, 1, 1));
  check(square(1, 16, 24, 9, 5, 1));
  Case strided = square(1, 3, 32, 31, 7, 1);
  strided.window.strides = {2, 2};
  check(strided);
}

// Lines that are longer than the copies of them may be.
TEST(Conv, OfLongLinesWithAStrideAlongThem) {
  for (const int64_t stride : {2, 3}) {
    Case c = square(1, 3, 16, 3, 7, 1);
    c.x[3] = 6000;
    c.window.strides = {1, stride};
    check(c);
  }
}

// So many channels that few pixels of a line fit.
TEST(Conv, OfLongLinesOfManyChannels) {
  Case c;
  c.x = {1, 31, 3, 1200};
  c.w = {16, 31, 2, 9};
  c.window = {{2, 9}, {1, 8}, {1, 1}, {1, 4}, {0, 4}};
  check(c);
}

TEST(Conv, OfEveryChannelByItself) {
  for (int64_t channels : {1, 3, 8, 24, 33}) {
    Case c = square(2, channels, channels, 7, 3, channels);
    check(c);
    c.layout = LK_LAYOUT_CHANNELS_LAST;
    c.constant = false;
    check(c);
  }
  check(square(1, 8, 24, 7, 3, 8)); // three outputs for each
}

// Some widths of a window have loops of their own, and must have them alone.
TEST(Conv, OfEveryChannelByItselfWithWindowsOfAnyWidth) {
  for (const int64_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    for (const int64_t stride : {1, 2, 3}) {
      Case c = square(1, 24, 24, 21, width, 24);
      c.window.strides = {stride, stride};
      check(c);
    }
  }
}

// Its only column is of a window of three, two of them behind the end of the line.
TEST(Conv, OfEveryChannelByItselfWithAWindowWiderThanTheImage) {
  Case c = square(1, 24, 24, 1, 3, 24);
  c.x = {1, 24, 5, 1};
  c.w = {24, 1, 1, 3};
  c.window = {{1, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 2}};
  check(c);
}

// A volume of one plane, before which there is padding: its only window sees nothing else.
TEST(Conv, OfEveryChannelByItselfBeforeWhichThereIsPadding) {
  const Window window = {{1, 1, 2}, {2, 1, 1}, {1, 1, 1}, {1, 0, 0}, {0, 0, 0}};
  const Value x = random({1, 16, 1, 4, 5}, 1), w = random({16, 1, 1, 1, 2}, 2);
  const Value b = random({16}, 3);
  for (const lk_layout wish : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    OpTester("Conv", 11)
        .input(x)
        .constant(w)
        .constant(b)
        .attr("group", 16)
        .attr_ints("strides", window.strides)
        .attr_ints("pads", window.pads())
        .wish(wish)
        .expect(lk::ref::conv(x, w, &b, window, 16))
        .run();
  }
}

TEST(Conv, OfSmallGroups) {
  for (int64_t channels : {2, 4, 7, 12, 40}) {
    Case c = square(2, 6 * channels, 6 * channels, 9, 3, 6);
    check(c);
    c.constant = false;
    check(c);
  }
}

TEST(Conv, OfEveryChannelByItselfMatchesPlainLoops) {
  lk::check_windows(12, [](Draw &draw, size_t spatial) {
    Case c = draw_case(draw, spatial);
    c.groups = c.x[1] = draw.in(2, 40);
    c.w[0] = c.groups * draw.of<int64_t>({1, 1, 1, 2, 3});
    c.w[1] = 1;
    c.constant = true;
    check(c);
  });
}

TEST(Conv, KeepsChannelsLastWithoutReorders) {
  Case c = square(1, 8, 16, 9, 3, 1);
  c.layout = LK_LAYOUT_CHANNELS_LAST;
  Value y;
  OpTester tester = tester_of(c, &y);
  tester.expect(y).expect_layout(LK_LAYOUT_CHANNELS_LAST).expect_reorders(0).run();
}

TEST(ConvOfNative, ReadsFewPlanesWithoutReorders) {
  Case c = square(2, 3, 16, 31, 7, 1);
  c.window.strides = {2, 2};
  Value y;
  OpTester tester = tester_of(c, &y);
  tester.expect(y).expect_layout(LK_LAYOUT_CHANNELS_LAST).expect_reorders(0).run();
  c.window.strides = {7, 7}; // patches
  OpTester of_patches = tester_of(c, &y);
  of_patches.expect(y).expect_layout(LK_LAYOUT_CHANNELS_LAST).expect_reorders(1).run();
}

TEST(Conv, OfNothingIsNothing) {
  Case c = square(0, 4, 8, 9, 3, 1);
  check(c);
}

TEST(Conv, TakesKernelShapeFromTheWeights) {
  const Value x = random({1, 2, 5, 4}, 1), w = random({3, 2, 2, 3}, 2);
  OpTester("Conv", 11)
      .input(x)
      .constant(w)
      .expect(lk::ref::conv(x, w, nullptr, {{2, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, 1))
      .run();
}

TEST(Conv, TakesWindowsOfUpTo31Bits) {
  constexpr int64_t most = INT32_MAX;
  for (const int64_t groups : {1, 2}) { // as a product, and for each channel
    const auto conv = [&](int64_t kernel, int64_t stride, int64_t dilation, int64_t pad) {
      OpTester tester("Conv", 11);
      tester.attr("group", groups).attr_ints("strides", {stride});
      tester.attr_ints("dilations", {dilation}).attr_ints("pads", {pad, 0});
      tester.input(lk::floats({1, groups, 2}, std::vector<float>(size_t(2 * groups), 3)));
      tester.input(lk::floats({groups, 1, kernel}, std::vector<float>(size_t(groups * kernel), 5)));
      return tester;
    };
    const auto all = [&](int64_t size) {
      return lk::floats({1, groups, size}, std::vector<float>(size_t(groups * size), 15));
    };
    conv(1, most, most, 0).expect(all(1)).run();
    conv(2, 1, most / 2, most / 2).expect(all(2)).run();
    conv(1, most + 1, 1, 0).expect_create(LK_OUT_OF_RANGE, "'strides' has the value 2147483648");
    conv(1, 1, most + 1, 0).expect_create(LK_OUT_OF_RANGE, "'dilations' has the value 2147483648");
    conv(1, 1, 1, most + 1).expect_create(LK_OUT_OF_RANGE, "'pads' has the value 2147483648");
    conv(2, 1, most / 2 + 1, 0)
        .expect_bind(LK_OUT_OF_RANGE,
                     "kernel of 2 with dilation 1073741824 spans more than the 2147483647");
  }
}

TEST(Conv, NamesWhatIsWrong) {
  const Value x = random({1, 4, 5, 5}, 1), w = random({6, 4, 3, 3}, 2);
  const auto conv = [&](const Value &a, const Value &b) {
    OpTester tester("Conv", 11);
    tester.input(a).input(b);
    return tester;
  };
  conv(x, random({6, 3, 3, 3}, 2)).expect_bind(LK_INVALID_ARGUMENT, "4 channels");
  conv(x, random({6, 4, 3}, 2)).expect_bind(LK_INVALID_ARGUMENT, "rank");
  conv(random({4, 5}, 1), random({6, 4}, 1)).expect_bind(LK_INVALID_ARGUMENT, "rank");
  conv(random({1, 4, 1, 1, 1, 1}, 1), random({6, 4, 1, 1, 1, 1}, 1))
      .expect_bind(LK_INVALID_ARGUMENT, "rank");
  conv(x, lk::iota<int32_t>({6, 4, 3, 3})).expect_bind(LK_UNSUPPORTED, "i32");
  conv(random({1, 4, 2, 5}, 1), w)
      .expect_bind(LK_INVALID_ARGUMENT, "the window of 3 must not exceed that");
  conv(x, w).attr("group", 3).expect_bind(LK_INVALID_ARGUMENT, "3 groups");
  conv(x, w).attr("group", 0).expect_create(LK_OUT_OF_RANGE, "'group' is 0");
  conv(x, w).attr("group", INT64_MAX).expect_create(LK_OUT_OF_RANGE, "'group' is 9");
  conv(x, w).attr_ints("strides", {1}).expect_bind(LK_INVALID_ARGUMENT, "'strides' has 1 values");
  conv(x, w)
      .attr_ints("strides", {0, 1})
      .expect_create(LK_OUT_OF_RANGE, "'strides' has the value 0");
  conv(x, w).attr_ints("dilations", {1, INT64_MAX}).expect_create(LK_OUT_OF_RANGE, "'dilations'");
  conv(x, w)
      .attr_ints("pads", {0, -1, 0, 0})
      .expect_create(LK_OUT_OF_RANGE, "'pads' has the value -1");
  conv(x, w).attr_ints("pads", {0, 0}).expect_bind(LK_INVALID_ARGUMENT, "'pads' has 2 values");
  conv(x, w).attr_ints("pads", {0, 0, 0}).expect_bind(LK_INVALID_ARGUMENT, "'pads' has 3 values");
  conv(x, w)
      .attr_ints("strides", {1, 1})
      .attr_ints("dilations", {1, 1, 1})
      .expect_bind(LK_INVALID_ARGUMENT, "'dilations' has 3 values");
  conv(x, w).attr_ints("kernel_shape", {3, 2}).expect_bind(LK_INVALID_ARGUMENT, "'kernel_shape'");
  conv(x, w).attr_text("auto_pad", "SAME").expect_create(LK_UNSUPPORTED, "auto_pad");
  conv(x, w)
      .attr_text("auto_pad", "VALID")
      .attr_ints("pads", {0, 1, 0, 0})
      .expect_create(LK_INVALID_ARGUMENT, "'pads' and 'auto_pad' say different things");
  conv(x, w)
      .attr_text("auto_pad", "SAME_UPPER")
      .attr_ints("pads", {0, 0, 1, 0})
      .expect_create(LK_INVALID_ARGUMENT, "'pads' and 'auto_pad' say different things");
  conv(x, w).attr_float("group", 1.0F).expect_create(LK_INVALID_ARGUMENT, "group");
  conv(x, w).input(random({5}, 3)).expect_bind(LK_INVALID_ARGUMENT, "bias");
  conv(x, w).input(random({1, 6}, 3)).expect_bind(LK_INVALID_ARGUMENT, "bias");
  conv(x, w).input(random({6}, 3)).input(x).expect_create(LK_INVALID_ARGUMENT, "inputs");
  OpTester("Conv", 11).input(x).expect_create(LK_INVALID_ARGUMENT, "inputs");
  OpTester("Conv", 11).input(x).absent().expect_create(LK_INVALID_ARGUMENT, "input 1 is absent");
}

} // namespace
