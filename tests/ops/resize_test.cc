// Resize against the formulas of the specification, evaluated one output element at a time, and
// against the examples of the specification.
#include "tests/harness/op_tester.h"

namespace {

using lk::Dims;
using lk::floats;
using lk::ints;
using lk::iota;
using lk::OpTester;
using lk::tensor;
using lk::Value;

struct How {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubic = -0.75;
  bool exclude_outside = false;
};

// One dimension of the reference.
double original(const How &how, double x, double in, double out, double scale) {
  if (how.coordinates == "asymmetric") return x / scale;
  if (how.coordinates == "align_corners") {
    return in * scale == 1 ? 0 : x * (in - 1) / (in * scale - 1);
  }
  if (how.coordinates == "pytorch_half_pixel" && out == 1) return 0;
  double shift = 0;
  if (how.coordinates == "half_pixel_symmetric") shift = in / 2 * (1 - out / (in * scale));
  return shift + (x + 0.5) / scale - 0.5;
}

double kernel(const How &how, double distance) {
  const double x = std::fabs(distance), a = how.cubic;
  if (how.mode == "linear") return x < 1 ? 1 - x : 0;
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

// Weights of all input positions for an output position.
std::vector<double> weights(const How &how, int64_t x, int64_t in, int64_t out, double scale) {
  std::vector<double> result(static_cast<size_t>(in), 0.0);
  const double at = original(how, double(x), double(in), double(out), scale);
  const auto held = [in](int64_t i) {
    return static_cast<size_t>(std::min(std::max<int64_t>(i, 0), in - 1));
  };
  if (how.mode == "nearest") {
    const double below = std::floor(at);
    bool up = at > below;
    if (how.nearest == "floor") up = false;
    if (how.nearest == "round_prefer_floor") up = at - below > 0.5;
    if (how.nearest == "round_prefer_ceil") up = at - below >= 0.5;
    result[held(static_cast<int64_t>(below) + (up ? 1 : 0))] = 1;
    return result;
  }
  double sum = 0;
  const int64_t base = static_cast<int64_t>(std::floor(at));
  for (int64_t i = base - 2; i <= base + 3; i++) {
    if (how.exclude_outside && (i < 0 || i >= in)) continue;
    const double weight = kernel(how, at - double(i));
    result[held(i)] += weight;
    sum += weight;
  }
  for (double &weight : result) weight /= sum;
  return result;
}

Value resized(const Value &x, const Dims &to, const std::vector<double> &scales, const How &how) {
  std::vector<double> now;
  for (float value : x.as<float>()) now.push_back(static_cast<double>(value));
  Dims dims = x.dims();
  for (size_t axis = 0; axis < dims.size(); axis++) {
    int64_t inner = 1, outer = 1;
    for (size_t i = 0; i < axis; i++) outer *= dims[i];
    for (size_t i = axis + 1; i < dims.size(); i++) inner *= dims[i];
    const int64_t in = dims[axis], out = to[axis];
    std::vector<double> next;
    for (int64_t o = 0; o < outer; o++) {
      for (int64_t y = 0; y < out; y++) {
        const std::vector<double> w = scales[axis] == 1 && in == out
                                          ? weights(How(), y, in, out, 1)
                                          : weights(how, y, in, out, scales[axis]);
        for (int64_t i = 0; i < inner; i++) {
          double sum = 0;
          for (int64_t k = 0; k < in; k++) {
            sum += w[static_cast<size_t>(k)] * now[static_cast<size_t>((o * in + k) * inner + i)];
          }
          next.push_back(sum);
        }
      }
    }
    now = next;
    dims[axis] = out;
  }
  return floats(to, std::vector<float>(now.begin(), now.end()));
}

OpTester node(const How &how, int32_t opset = 13) {
  OpTester tester("Resize", opset);
  tester.attr_text("mode", how.mode)
      .attr_text("coordinate_transformation_mode", how.coordinates)
      .attr_text("nearest_mode", how.nearest)
      .attr_float("cubic_coeff_a", static_cast<float>(how.cubic));
  if (how.exclude_outside) tester.attr("exclude_outside", 1);
  return tester;
}

OpTester by_sizes(const Value &x, const Dims &to, const How &how,
                  lk_layout layout = LK_LAYOUT_PLAIN) {
  std::vector<double> scales;
  for (size_t i = 0; i < to.size(); i++) scales.push_back(double(to[i]) / double(x.dims()[i]));
  OpTester tester = node(how);
  tester.input(x, layout).absent().absent().input(ints(to)).expect(resized(x, to, scales, how));
  return tester;
}

OpTester by_scales(const Value &x, const std::vector<float> &scales, const How &how) {
  Dims to;
  for (size_t i = 0; i < scales.size(); i++) {
    to.push_back(static_cast<int64_t>(std::floor(float(x.dims()[i]) * scales[i])));
  }
  OpTester tester = node(how);
  tester.input(x)
      .absent()
      .input(floats({static_cast<int64_t>(scales.size())}, scales))
      .expect(resized(x, to, std::vector<double>(scales.begin(), scales.end()), how));
  return tester;
}

const char *const COORDINATES[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                   "asymmetric", "half_pixel_symmetric"};
const Dims SIZES[] = {{1, 2, 9, 11}, {1, 2, 8, 10}, {1, 2, 3, 2}, {1, 2, 1, 7}, {1, 2, 4, 6}};

TEST(Resize, NearestInAllModesAndLayouts) {
  const Value x = lk::random({1, 2, 4, 5}, 1);
  for (const char *coordinates : COORDINATES) {
    for (const char *nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
      for (const Dims &to : SIZES) {
        How how;
        how.coordinates = coordinates;
        how.nearest = nearest;
        SCOPED_TRACE(how.coordinates + " " + how.nearest + " " + lk::text_of(lk::desc_of(1, to)));
        by_sizes(x, to, how).tolerance(0).run();
        by_sizes(x, to, how, LK_LAYOUT_CHANNELS_LAST)
            .expect_layout(LK_LAYOUT_CHANNELS_LAST)
            .expect_reorders(0)
            .tolerance(0)
            .run();
      }
    }
  }
}

TEST(Resize, LinearAndCubicInAllModesAndLayouts) {
  const Value x = lk::random({1, 2, 4, 5}, 2);
  for (const char *mode : {"linear", "cubic"}) {
    for (const char *coordinates : COORDINATES) {
      for (bool exclude : {false, true}) {
        for (const Dims &to : SIZES) {
          How how;
          how.mode = mode;
          how.coordinates = coordinates;
          how.exclude_outside = exclude;
          SCOPED_TRACE(how.mode + " " + how.coordinates + " " + lk::text_of(lk::desc_of(1, to)));
          by_sizes(x, to, how).run();
          by_sizes(x, to, how, LK_LAYOUT_CHANNELS_LAST).expect_reorders(0).run();
        }
      }
    }
  }
}

TEST(Resize, WholeFactorsAndHalfPixelsAreOnePrimitive) {
  How how;
  how.coordinates = "asymmetric";
  how.nearest = "floor";
  const Value x = lk::random({2, 8, 5, 6}, 3);
  by_sizes(x, {2, 8, 10, 12}, how).expect_primitives(1).tolerance(0).run();
  by_sizes(x, {2, 8, 15, 24}, how, LK_LAYOUT_CHANNELS_LAST)
      .expect_primitives(1)
      .expect_layout(LK_LAYOUT_CHANNELS_LAST)
      .tolerance(0)
      .run();
  by_sizes(x, {2, 8, 8, 12}, how).expect_primitives(0).tolerance(0).run();
  How linear;
  linear.mode = "linear";
  by_sizes(x, {2, 8, 7, 9}, linear).expect_primitives(1).run();
  by_sizes(lk::random({1, 2, 3, 4, 5}, 1), {1, 2, 5, 4, 10}, linear).expect_primitives(1).run();
  by_sizes(lk::random({1, 2, 5}, 1), {1, 2, 3}, linear).expect_primitives(1).run();
}

TEST(Resize, ByScalesWithAFractionLeft) {
  const Value x = lk::random({1, 1, 5, 7}, 4);
  for (const char *coordinates : COORDINATES) {
    for (const char *mode : {"linear", "cubic"}) {
      How how;
      how.mode = mode;
      how.coordinates = coordinates;
      SCOPED_TRACE(how.mode + " " + how.coordinates);
      by_scales(x, {1, 1, 0.75f, 1.5f}, how).run();
      by_scales(x, {1, 1, 2.25f, 0.5f}, how).run();
    }
  }
}

TEST(Resize, AnyNumberOfAxesWithinLimits) {
  How how;
  how.mode = "linear";
  by_sizes(lk::random({3, 4}, 1), {5, 2}, how).run();
  by_sizes(lk::random({6}, 1), {9}, how).run();
  by_sizes(lk::random({2, 3, 4, 2}, 1), {3, 5, 2, 4}, how).run();
  by_sizes(lk::random({2, 3, 4, 2}, 1), {3, 5, 2, 4}, how, LK_LAYOUT_CHANNELS_LAST).run();
  by_sizes(lk::random({2, 3, 2, 4, 2, 3}, 1), {2, 5, 2, 7, 2, 3}, how).run();
  how.mode = "cubic";
  by_sizes(lk::random({2, 3, 4, 5}, 1), {3, 5, 2, 7}, how).run();
}

TEST(Resize, NearestCopiesEveryType) {
  How how;
  const auto nearest = [&](const Value &x, const Value &expected) {
    node(how).input(x).absent().input(floats({2}, {1, 2})).expect(expected).run();
  };
  nearest(tensor<uint8_t>({1, 2}, {1, 2}), tensor<uint8_t>({1, 4}, {1, 1, 2, 2}));
  nearest(tensor<int64_t>({1, 2}, {1, 2}), tensor<int64_t>({1, 4}, {1, 1, 2, 2}));
  nearest(tensor<uint16_t>({1, 2}, {1, 2}, LK_F16), tensor<uint16_t>({1, 4}, {1, 1, 2, 2}, LK_F16));
}

TEST(Resize, SpecificationExamples) {
  const Value x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  How linear;
  linear.mode = "linear";
  node(linear)
      .input(x)
      .absent()
      .input(floats({4}, {1, 1, 2, 2}))
      .expect(floats({1, 1, 4, 4}, {1, 1.25f, 1.75f, 2, 1.5f, 1.75f, 2.25f, 2.5f, 2.5f, 2.75f,
                                    3.25f, 3.5f, 3, 3.25f, 3.75f, 4}))
      .run();
  // Downsampling with align_corners: the width 4 * 0.6 keeps its fraction.
  How corners = linear;
  corners.coordinates = "align_corners";
  node(corners)
      .input(floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}))
      .absent()
      .input(floats({4}, {1, 1, 0.6f, 0.6f}))
      .expect(floats({1, 1, 1, 2}, {1, 3.142857f}))
      .run();
}

TEST(Resize, Opset10IsAsymmetric) {
  OpTester("Resize", 10)
      .attr_text("mode", "nearest")
      .input(floats({1, 1, 2, 2}, {1, 2, 3, 4}))
      .input(floats({4}, {1, 1, 2, 3}))
      .expect(floats({1, 1, 4, 6},
                     {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}))
      .run();
  OpTester("Resize", 10)
      .attr_text("mode", "linear")
      .input(floats({1, 1, 1, 2}, {1, 3}))
      .input(floats({4}, {1, 1, 1, 2}))
      .expect(floats({1, 1, 1, 4}, {1, 2, 3, 3}))
      .run();
}

TEST(Resize, Opset11TakesEmptyTensorsForWhatIsNotGiven) {
  How how;
  how.coordinates = "asymmetric";
  how.nearest = "floor";
  node(how, 11)
      .input(floats({1, 1, 1, 2}, {1, 2}))
      .constant(floats({0}, {}))
      .constant(floats({4}, {1, 1, 2, 2}))
      .expect(floats({1, 1, 2, 4}, {1, 1, 2, 2, 1, 1, 2, 2}))
      .expect_primitives(1)
      .run();
  node(how, 11)
      .input(floats({1, 1, 1, 2}, {1, 2}))
      .input(floats({0}, {}))
      .input(floats({0}, {}))
      .input(ints({1, 1, 1, 4}))
      .expect(floats({1, 1, 1, 4}, {1, 1, 2, 2}))
      .run();
}

TEST(Resize, AxesAndAspectRatioFromOpset18) {
  const Value x = floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto keep = [&](const char *policy, const Dims &sizes, const Dims &to, double scale) {
    How how;
    how.mode = "linear";
    node(how, 18)
        .attr_ints("axes", {-1, 2})
        .attr_text("keep_aspect_ratio_policy", policy)
        .input(x)
        .absent()
        .absent()
        .input(ints(sizes))
        .expect(resized(x, to, {1, 1, scale, scale}, how))
        .run();
  };
  keep("not_larger", {6, 9}, {1, 1, 3, 6}, 1.5);
  keep("not_smaller", {6, 9}, {1, 1, 9, 18}, 4.5);
  keep("not_larger", {7, 9}, {1, 1, 4, 7}, 1.75); // 3.5 rounds up
}

TEST(Resize, ToTheSameSizeIsAView) {
  const Value x = lk::random({1, 2, 3, 4}, 1);
  node(How()).input(x).absent().absent().input(ints({1, 2, 3, 4})).expect(x).expect_alias(0).run();
}

TEST(Resize, OfNothingIsNothing) {
  node(How())
      .input(floats({0, 1, 2, 2}, {}))
      .absent()
      .input(floats({4}, {1, 1, 2, 2}))
      .expect(floats({0, 1, 4, 4}, {}))
      .run();
  node(How())
      .input(floats({1, 1, 0, 2}, {}))
      .absent()
      .absent()
      .input(ints({1, 1, 4, 4}))
      .expect_bind(LK_INVALID_ARGUMENT, "nothing to interpolate");
}

TEST(Resize, NamesWhatIsWrong) {
  const Value x = lk::random({1, 1, 2, 2}, 1);
  const Value scales = floats({4}, {1, 1, 2, 2}), sizes = ints({1, 1, 4, 4});
  node(How()).input(x).expect_bind(LK_INVALID_ARGUMENT, "neither");
  node(How()).input(x).absent().absent().expect_bind(LK_INVALID_ARGUMENT, "neither");
  node(How()).input(x).absent().input(scales).input(sizes).expect_bind(LK_INVALID_ARGUMENT, "both");
  node(How())
      .input(x)
      .absent()
      .input(floats({3}, {1, 2, 2}))
      .expect_bind(LK_INVALID_ARGUMENT, "4 f32");
  node(How())
      .input(x)
      .absent()
      .input(floats({4}, {1, 1, 0, 2}))
      .expect_bind(LK_INVALID_ARGUMENT, "positive");
  node(How())
      .input(x)
      .absent()
      .input(floats({4}, {1, 1, NAN, 2}))
      .expect_bind(LK_INVALID_ARGUMENT, "positive");
  node(How())
      .input(x)
      .absent()
      .input(floats({4}, {1, 1, 3e38f, 3e38f}))
      .expect_bind(LK_OUT_OF_RANGE, "too large");
  node(How())
      .input(floats({1}, {1}))
      .absent()
      .absent()
      .input(ints({INT64_C(1) << 60}))
      .expect_bind(LK_OUT_OF_RANGE, "taps");
  node(How())
      .input(x)
      .absent()
      .absent()
      .input(ints({1, 1, -4, 4}))
      .expect_bind(LK_INVALID_ARGUMENT, "-4");
  node(How(), 18)
      .attr("antialias", 1)
      .input(x)
      .absent()
      .input(scales)
      .expect_create(LK_UNSUPPORTED, "antialias");
  How crop;
  crop.coordinates = "tf_crop_and_resize";
  node(crop).input(x).absent().input(scales).expect_create(LK_UNSUPPORTED, "tf_crop_and_resize");
  How linear;
  linear.mode = "linear";
  node(linear)
      .input(iota<uint8_t>({2, 2}))
      .absent()
      .input(floats({2}, {2, 2}))
      .expect_bind(LK_UNSUPPORTED, "u8");
}

} // namespace
