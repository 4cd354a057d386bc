// Resize with random attributes and shapes against the formulas of the specification: all that it
// lets a node ask of f32, in both layouts.
#include "tests/ops/resize_reference.h"

namespace {

using lk::Dims;
using lk::Value;
using lk::resize::Axis;
using lk::resize::How;

class Draw {
public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  int64_t between(int64_t low, int64_t high) { // both included
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool coin() { return between(0, 1) == 1; }
  template <typename T> T of(const std::vector<T> &values) {
    return values[static_cast<size_t>(between(0, static_cast<int64_t>(values.size()) - 1))];
  }
  template <typename T> void shuffle(std::vector<T> *values) {
    std::shuffle(values->begin(), values->end(), engine_);
  }

private:
  std::mt19937 engine_;
};

struct Case {
  How how;
  int32_t opset = 19;
  Value x;
  std::vector<Axis> axes;
  std::vector<size_t> given; // axes in the order of roi, scales and sizes
  bool names_axes = false;
  std::string policy = "stretch";
  std::vector<float> scales;
  std::vector<int64_t> sizes;
  lk_layout layout = LK_LAYOUT_PLAIN;
};

How draw_how(Draw *draw) {
  How how;
  how.mode = draw->of<std::string>({"nearest", "linear", "cubic"});
  how.coordinates =
      draw->of<std::string>({"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                             "half_pixel_symmetric", "tf_crop_and_resize"});
  how.nearest = draw->of<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  how.cubic = draw->of<double>({-0.75, -0.5});
  how.antialias = draw->coin();
  how.exclude_outside = draw->coin();
  how.extrapolation = draw->of<double>({0, 7.5});
  return how;
}

// One scale for all given axes: the least or the greatest.
void keep_ratio(Case *one) {
  int64_t up = -1, down = 1;
  for (size_t i = 0; i < one->given.size(); i++) {
    const int64_t size = one->sizes[i], in = one->axes[one->given[i]].in;
    const bool less = size * down < up * in;
    if (up < 0 || (one->policy == "not_larger" ? less : size * down > up * in)) {
      up = size;
      down = in;
    }
  }
  for (const size_t axis : one->given) { // halves are rounded up
    const int64_t in = one->axes[axis].in;
    one->axes[axis] = {in, (2 * in * up + down) / (2 * down), double(up), double(down)};
  }
}

Case draw_case(unsigned seed) {
  Draw draw(seed);
  Case one;
  one.how = draw_how(&draw);
  const int64_t rank = draw.between(1, 5);
  Dims dims;
  for (int64_t i = 0; i < rank; i++) {
    dims.push_back(draw.between(1, rank > 3 ? 5 : 9));
    one.axes.push_back(lk::resize::axis_by_size(dims.back(), dims.back()));
    one.given.push_back(static_cast<size_t>(i));
  }
  one.x = lk::random(dims, seed);
  if (rank > 2 && draw.coin()) one.layout = LK_LAYOUT_CHANNELS_LAST;
  one.names_axes = draw.coin();
  if (one.names_axes) {
    draw.shuffle(&one.given);
    one.given.resize(static_cast<size_t>(draw.between(1, rank)));
  }
  if (draw.coin()) {
    // Nearest is computed in float where scales are given: none that a last bit decides.
    std::vector<float> choice = {0.25f, 0.5f, 0.75f, 1, 1.25f, 1.5f, 2, 3};
    if (one.how.mode != "nearest") choice.insert(choice.end(), {0.3f, 0.7f, 1.7f});
    for (const size_t axis : one.given) {
      one.scales.push_back(draw.of(choice));
      one.axes[axis] = lk::resize::axis_by_scale(dims[axis], one.scales.back());
    }
  } else {
    one.policy = draw.of<std::string>({"stretch", "not_larger", "not_smaller"});
    for (const size_t axis : one.given) {
      one.sizes.push_back(draw.between(1, 12));
      one.axes[axis] = lk::resize::axis_by_size(dims[axis], one.sizes.back());
    }
    if (one.policy != "stretch") keep_ratio(&one);
  }
  if (one.how.coordinates == "tf_crop_and_resize") {
    for (const size_t axis : one.given) {
      one.axes[axis].start = double(draw.between(-2, 8)) / 8;
      one.axes[axis].end = double(draw.between(0, 10)) / 8;
      if (draw.coin()) one.axes[axis].start = 0;
      if (draw.coin()) one.axes[axis].end = 1;
    }
  }
  if (!one.names_axes && one.policy == "stretch" && !one.how.antialias) {
    one.opset = draw.of<int32_t>({11, 13, 18, 23});
  }
  return one;
}

void check(const Case &one) {
  const How &how = one.how;
  lk::OpTester tester = lk::resize::node(how, one.opset);
  if (one.names_axes) {
    std::vector<int64_t> axes;
    const auto rank = static_cast<int64_t>(one.axes.size());
    for (const size_t axis : one.given) {
      axes.push_back(axis % 2 == 0 ? int64_t(axis) : int64_t(axis) - rank);
    }
    tester.attr_ints("axes", axes);
  }
  if (one.policy != "stretch") tester.attr_text("keep_aspect_ratio_policy", one.policy);
  tester.input(one.x, one.layout);
  if (how.coordinates == "tf_crop_and_resize") {
    std::vector<float> roi;
    for (const size_t axis : one.given) roi.push_back(static_cast<float>(one.axes[axis].start));
    for (const size_t axis : one.given) roi.push_back(static_cast<float>(one.axes[axis].end));
    tester.input(lk::floats({static_cast<int64_t>(roi.size())}, roi));
  } else {
    tester.absent();
  }
  const auto count = static_cast<int64_t>(one.given.size());
  if (one.scales.empty()) {
    tester.absent().input(lk::ints(one.sizes));
  } else {
    tester.input(lk::floats({count}, one.scales));
  }
  if (how.mode == "nearest") tester.within(lk::EXACTLY);
  tester.expect(lk::resize::resized(one.x, one.axes, how)).run();
}

TEST(ResizeRandom, EverythingThatANodeCanAsk) {
  for (int seed = 1; seed <= lk::repeats(200); seed++) {
    const Case one = draw_case(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + one.how.mode + ", " + one.how.coordinates +
                 ", " + one.policy + ", of " + lk::text_of(one.x.desc));
    check(one);
    if (HasFailure()) return;
  }
}

} // namespace
