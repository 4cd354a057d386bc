// QLinearConv against plain loops: windows of 1, 2 and 3 dimensions, few channels and many, in
// planes and channels last. Scales are powers of two: what is rounded is exact.
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/ops/reference.h"

namespace {

using lk::Dims;
using lk::Draw;
using lk::OpTester;
using lk::Value;
using lk::ref::Window;

std::vector<int64_t> draw_bytes(int64_t count, int64_t least, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<int64_t> out(static_cast<size_t>(count));
  for (int64_t &value : out) value = static_cast<int64_t>(rng() % 256) + least;
  return out;
}

template <class T> Value bytes_of(const Dims &dims, const std::vector<int64_t> &from) {
  return lk::tensor<T>(dims, std::vector<T>(from.begin(), from.end()));
}

// f32 has the sums of products of bytes exactly.
Value less(const Dims &dims, const std::vector<int64_t> &from, int64_t zero) {
  std::vector<float> to;
  for (const int64_t value : from) to.push_back(static_cast<float>(value - zero));
  return lk::tensor<float>(dims, to);
}

struct Case {
  Dims x, w;
  Window window;
  int64_t groups = 1, x_zero = 0, w_zero = 0;
  lk_layout layout = LK_LAYOUT_PLAIN, wish = LK_LAYOUT_ANY;
};

template <class X> void check(const Case &c) {
  SCOPED_TRACE("x " + lk::text_of(c.x) + ", w " + lk::text_of(c.w) + ", strides " +
               lk::text_of(c.window.strides) + ", dilations " + lk::text_of(c.window.dilations) +
               ", pads " + lk::text_of(c.window.begin) + lk::text_of(c.window.end));
  const bool is_signed = std::is_signed_v<X>;
  const auto x = draw_bytes(lk::count_of(c.x), is_signed ? -128 : 0, 1);
  const auto w = draw_bytes(lk::count_of(c.w), -128, 2);
  const auto bias = draw_bytes(c.w[0], -1000, 3);
  const int64_t x_zero = is_signed ? c.x_zero - 128 : c.x_zero, y_zero = is_signed ? -5 : 123;
  std::vector<float> wide(bias.begin(), bias.end());
  const Value added = lk::tensor<float>({c.w[0]}, wide);
  const Value sums =
      lk::ref::conv(less(c.x, x, x_zero), less(c.w, w, c.w_zero), &added, c.window, c.groups);
  std::vector<int64_t> y;
  for (const float sum : sums.as<float>()) {
    const auto whole = static_cast<int64_t>(std::nearbyint(sum / 1024)) + y_zero;
    y.push_back(std::clamp<int64_t>(whole, is_signed ? -128 : 0, is_signed ? 127 : 255));
  }
  OpTester tester("QLinearConv", 10);
  tester.attr("group", c.groups)
      .attr_ints("strides", c.window.strides)
      .attr_ints("pads", c.window.pads());
  tester.attr_ints("dilations", c.window.dilations);
  tester.input(bytes_of<X>(c.x, x), c.layout).constant(lk::floats({}, {0.25F}));
  tester.constant(bytes_of<X>({}, {x_zero})).constant(bytes_of<int8_t>(c.w, w));
  tester.constant(lk::floats({}, {0.5F})).constant(bytes_of<int8_t>({}, {c.w_zero}));
  tester.constant(lk::floats({}, {128})).constant(bytes_of<X>({}, {y_zero}));
  tester.constant(lk::tensor<int32_t>({c.w[0]}, std::vector<int32_t>(bias.begin(), bias.end())));
  tester.wish(c.wish).expect(bytes_of<X>(sums.dims(), y)).run();
}

Case draw_case(Draw &draw, size_t spatial) {
  Case c;
  c.groups = draw.of<int64_t>({1, 1, 1, 1, 2});
  c.x = {draw.in(1, 2), c.groups * draw.of<int64_t>({1, 2, 3, 3, 4, 5, 16})};
  c.w = {c.groups * draw.of<int64_t>({1, 7, 16, 40}), c.x[1] / c.groups};
  for (size_t i = 0; i < spatial; i++) {
    Window &w = c.window;
    w.kernel.push_back(draw.in(1, 3));
    w.strides.push_back(draw.in(1, 3));
    w.dilations.push_back(draw.of<int64_t>({1, 1, 1, 2}));
    w.begin.push_back(draw.in(0, w.kernel[i]));
    w.end.push_back(draw.in(0, w.kernel[i]));
    c.x.push_back(w.extent(i) + draw.in(0, spatial == 3 ? 3 : 20));
    c.w.push_back(w.kernel[i]);
  }
  c.x_zero = draw.of<int64_t>({0, 100, 255});
  c.w_zero = draw.of<int64_t>({0, 0, 0, -3});
  c.layout = draw.layout(c.x.size());
  c.wish = draw.wish(c.x.size());
  return c;
}

TEST(QLinearConv, MatchesPlainLoops) {
  lk::check_windows(40, [](Draw &draw, size_t spatial) {
    const Case c = draw_case(draw, spatial);
    draw.maybe() ? check<int8_t>(c) : check<uint8_t>(c);
  });
}

// The first layer of networks that take pictures.
TEST(QLinearConv, OfPictures) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t line : {3, 5, 6, 9}) {
        Case c;
        c.x = {2, channels, 33, 50};
        c.w = {24, channels, 3, line};
        c.window = {{3, line}, {stride, stride}, {1, 1}, {1, 1}, {1, 1}};
        c.x_zero = 77;
        check<uint8_t>(c);
        c.w_zero = 4;
        check<uint8_t>(c);
      }
    }
  }
}

TEST(QLinearConv, OfNoChannels) {
  Case c;
  c.x = {1, 0, 6, 7};
  c.w = {3, 0, 3, 3};
  c.window = {{3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  check<uint8_t>(c);
}

TEST(QLinearConv, OfGroupsOfFewChannels) {
  for (const int64_t groups : {2, 3}) {
    for (const int64_t of_each : {1, 2, 5}) {
      Case c;
      c.x = {1, groups, 9, 13};
      c.w = {groups * of_each, 1, 3, 2};
      c.groups = groups;
      c.window = {{3, 2}, {1, 2}, {1, 1}, {1, 0}, {1, 1}};
      c.x_zero = 31;
      check<uint8_t>(c);
    }
  }
}

// So many images and pixels that threads share them, which do not fill the last vector.
TEST(QLinearConv, OfManyPixels) {
  Case c;
  c.x = {2, 3, 211, 211};
  c.w = {2, 3, 1, 1};
  c.window = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  c.x_zero = 5;
  check<uint8_t>(c);
}

} // namespace
