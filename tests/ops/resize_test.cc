// Resize against the formulas of the specification (resize_reference.h) and its examples. Random
// attributes are in resize_random_test.cc.
#include "tests/ops/resize_reference.h"

namespace {

using lk::Dims;
using lk::floats;
using lk::ints;
using lk::iota;
using lk::OpTester;
using lk::Plan;
using lk::tensor;
using lk::Value;
using lk::resize::Axis;
using lk::resize::How;
using lk::resize::node;
using lk::resize::resized;

OpTester by_sizes(const Value &x, const Dims &to, const How &how,
                  lk_layout layout = LK_LAYOUT_PLAIN) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < to.size(); i++) {
    axes.push_back(lk::resize::axis_by_size(x.dims()[i], to[i]));
  }
  OpTester tester = node(how, how.antialias ? 18 : 13);
  tester.input(x, layout).absent().absent().input(ints(to)).expect(resized(x, axes, how));
  return tester;
}

OpTester by_scales(const Value &x, const std::vector<float> &scales, const How &how) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < scales.size(); i++) {
    axes.push_back(lk::resize::axis_by_scale(x.dims()[i], scales[i]));
  }
  OpTester tester = node(how, how.antialias ? 18 : 13);
  tester.input(x)
      .absent()
      .input(floats({static_cast<int64_t>(scales.size())}, scales))
      .expect(resized(x, axes, how));
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
        by_sizes(x, to, how).within(lk::EXACTLY).run();
        by_sizes(x, to, how, LK_LAYOUT_CHANNELS_LAST)
            .expect_layout(LK_LAYOUT_CHANNELS_LAST)
            .expect_reorders(0)
            .within(lk::EXACTLY)
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

TEST(Resize, WholeFactorsAndHalfPixels) {
  How how;
  how.coordinates = "asymmetric";
  how.nearest = "floor";
  const Value x = lk::random({2, 8, 5, 6}, 3);
  by_sizes(x, {2, 8, 10, 12}, how).within(lk::EXACTLY).run();
  by_sizes(x, {2, 8, 15, 24}, how, LK_LAYOUT_CHANNELS_LAST)
      .expect_layout(LK_LAYOUT_CHANNELS_LAST)
      .within(lk::EXACTLY)
      .run();
  by_sizes(x, {2, 8, 8, 12}, how).within(lk::EXACTLY).run();
  How linear;
  linear.mode = "linear";
  by_sizes(x, {2, 8, 7, 9}, linear).run();
  by_sizes(lk::random({1, 2, 3, 4, 5}, 1), {1, 2, 5, 4, 10}, linear).run();
  by_sizes(lk::random({1, 2, 5}, 1), {1, 2, 3}, linear).run();
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

TEST(Resize, AnyNumberOfAxes) {
  How how;
  how.mode = "linear";
  by_sizes(lk::random({3, 4}, 1), {5, 2}, how).run();
  by_sizes(lk::random({6}, 1), {9}, how).run();
  by_sizes(lk::random({2, 3, 4, 2}, 1), {3, 5, 2, 4}, how).run();
  by_sizes(lk::random({2, 3, 4, 2}, 1), {3, 5, 2, 4}, how, LK_LAYOUT_CHANNELS_LAST).run();
  by_sizes(lk::random({2, 3, 2, 4, 2, 3}, 1), {2, 5, 2, 7, 2, 3}, how).run();
  how.mode = "cubic";
  by_sizes(lk::random({2, 3, 4, 5}, 1), {3, 5, 2, 7}, how).run();
  by_sizes(lk::random({2, 3, 2, 1, 2, 3}, 1), {3, 2, 3, 2, 4, 2}, how).run();
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
  // The scale is up / down, for both axes.
  const auto keep = [&](const char *policy, const Dims &sizes, const Dims &to, double up,
                        double down) {
    How how;
    how.mode = "linear";
    node(how, 18)
        .attr_ints("axes", {-1, 2})
        .attr_text("keep_aspect_ratio_policy", policy)
        .input(x)
        .absent()
        .absent()
        .input(ints(sizes))
        .expect(resized(x, {{1, 1, 1, 1}, {1, 1, 1, 1}, {2, to[2], up, down}, {4, to[3], up, down}},
                        how))
        .run();
  };
  keep("not_larger", {6, 9}, {1, 1, 3, 6}, 6, 4);
  keep("not_smaller", {6, 9}, {1, 1, 9, 18}, 9, 2);
  keep("not_larger", {7, 9}, {1, 1, 4, 7}, 7, 4); // 3.5 rounds up
  keep("not_larger", {0, 9}, {1, 1, 0, 0}, 0, 4);
  keep("not_smaller", {0, 3}, {1, 1, 3, 6}, 3, 2);
}

TEST(Resize, AntialiasExamplesOfTheSpecification) {
  const Value x = floats({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  How how;
  how.antialias = true;
  const auto scaled = [&](const char *mode, const std::vector<float> &expected) {
    how.mode = mode;
    node(how, 18)
        .input(x)
        .absent()
        .input(floats({4}, {1, 1, 0.6f, 0.6f}))
        .expect(floats({1, 1, 2, 2}, expected))
        .run();
  };
  scaled("linear", {2.875f, 4.5f, 9.375f, 11});
  scaled("cubic", {2.5180721f, 4.2858863f, 9.589329f, 11.357142f});
}

TEST(Resize, AntialiasInAllModesAndLayouts) {
  const Value x = lk::random({1, 2, 11, 13}, 5);
  for (const char *mode : {"linear", "cubic"}) {
    for (const char *coordinates : COORDINATES) {
      for (bool exclude : {false, true}) {
        How how;
        how.mode = mode;
        how.coordinates = coordinates;
        how.exclude_outside = exclude;
        how.antialias = true;
        SCOPED_TRACE(how.mode + " " + how.coordinates);
        by_sizes(x, {1, 2, 3, 7}, how).run();
        by_sizes(x, {1, 2, 1, 20}, how).run();
        by_sizes(x, {1, 2, 5, 4}, how, LK_LAYOUT_CHANNELS_LAST)
            .expect_layout(LK_LAYOUT_CHANNELS_LAST)
            .expect_reorders(0)
            .run();
        by_scales(x, {1, 1, 0.35f, 0.8f}, how).run();
      }
    }
  }
}

// The filter is no wider than without. To nearest it means nothing.
TEST(Resize, AntialiasOfALargerOutputIsNone) {
  How how;
  how.antialias = true;
  how.mode = "linear";
  by_sizes(lk::random({1, 2, 4, 5}, 6), {1, 2, 7, 9}, how).run();
  how.mode = "nearest";
  by_sizes(lk::random({1, 2, 4, 5}, 6), {1, 2, 3, 3}, how).within(lk::EXACTLY).run();
}

TEST(Resize, CropsToTheRegion) {
  const Value x = floats({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  How how;
  how.mode = "linear";
  how.coordinates = "tf_crop_and_resize";
  const std::vector<float> expected = {7.6f, 7.9f, 8.2f, 8.8f, 9.1f, 9.4f, 10, 10.3f, 10.6f};
  node(how)
      .input(x)
      .constant(floats({8}, {0, 0, 0.4f, 0.6f, 1, 1, 0.6f, 0.8f}))
      .absent()
      .constant(ints({1, 1, 3, 3}))
      .expect(floats({1, 1, 3, 3}, expected))
      .run();
  node(how, 18)
      .attr_ints("axes", {3, -2})
      .input(x)
      .input(tensor<double>({4}, {0.6, 0.4, 0.8, 0.6}))
      .absent()
      .input(ints({3, 3}))
      .expect(floats({1, 1, 3, 3}, expected))
      .run();
  // 0.25 and 0.75 as f16. By scales, the region does not change the shape.
  node(how)
      .input(floats({5}, {0, 1, 2, 3, 4}))
      .input(tensor<uint16_t>({2}, {0x3400, 0x3a00}, LK_F16))
      .input(floats({1}, {1}))
      .expect(floats({5}, {1, 1.5f, 2, 2.5f, 3}))
      .run();
  // One element lies in the middle.
  node(how)
      .input(floats({5}, {0, 1, 2, 3, 4}))
      .input(floats({2}, {0, 0.5f}))
      .absent()
      .input(ints({1}))
      .expect(floats({1}, {1}))
      .run();
  // An end of 1 is the last element, which is not outside.
  how.extrapolation = 9;
  node(how)
      .input(floats({4}, {0, 1, 2, 3}))
      .input(floats({2}, {0.4f, 1}))
      .absent()
      .input(ints({3}))
      .expect(floats({3}, {1.2f, 2.1f, 3}))
      .run();
}

// The last position is an element, and those before it lie between that and the next one.
TEST(Resize, CropsBackwardsFromBetweenTwoElements) {
  How how;
  how.coordinates = "tf_crop_and_resize";
  const double begin = 0.5703125; // 4.5625 of 9 columns, and 0.5 is 4
  for (const char *mode : {"linear", "cubic"}) {
    how.mode = mode;
    SCOPED_TRACE(mode);
    const Axis rows = {3, 3, 3, 3}, few = {2, 3, 3, 2, 0.25, 0}, many = {9, 7, 7, 9, begin, 0.5};
    for (const Axis &columns : {few, many}) {
      const Value x = lk::random({3, columns.in}, 1);
      node(how)
          .input(x)
          .constant(floats({4}, {0, float(columns.start), 1, float(columns.end)}))
          .absent()
          .constant(ints({3, columns.out}))
          .expect(resized(x, {rows, columns}, how))
          .run();
    }
  }
}

TEST(Resize, OutsideTheRegionIsTheExtrapolationValue) {
  How how;
  how.coordinates = "tf_crop_and_resize";
  how.extrapolation = 300.5;
  const auto extrapolated = [&](const Value &x, const Value &expected) {
    node(how)
        .input(x)
        .input(floats({4}, {0.5f, -1, 1.5f, 1}))
        .absent()
        .input(ints({2, 3}))
        .expect(expected)
        .run();
  };
  // Rows 0.5 and 1.5, columns -1, 0 and 1.
  for (const char *mode : {"nearest", "linear", "cubic"}) {
    how.mode = mode;
    how.nearest = "ceil";
    SCOPED_TRACE(mode);
    const bool copies = how.mode == "nearest";
    const float high = copies ? 6 : 4;
    extrapolated(floats({2, 2}, {2, 4, 6, 8}),
                 floats({2, 3}, {300.5f, high, high + 2, 300.5f, 300.5f, 300.5f}));
    const auto byte = static_cast<uint8_t>(high);
    extrapolated(
        tensor<uint8_t>({2, 2}, {2, 4, 6, 8}),
        tensor<uint8_t>({2, 3}, {255, byte, static_cast<uint8_t>(byte + 2), 255, 255, 255}));
    const auto whole = static_cast<int64_t>(high);
    extrapolated(tensor<int64_t>({2, 2}, {2, 4, 6, 8}),
                 tensor<int64_t>({2, 3}, {300, whole, whole + 2, 300, 300, 300}));
  }
  how.mode = "nearest";
  extrapolated(tensor<uint8_t>({2, 2}, {0, 0, 0, 1}, LK_BOOL),
               tensor<uint8_t>({2, 3}, {1, 0, 1, 1, 1, 1}, LK_BOOL));
  // It is written, and not weighed: no other element becomes NaN.
  how.mode = "cubic";
  how.extrapolation = NAN;
  extrapolated(floats({2, 2}, {2, 4, 6, 8}), floats({2, 3}, {NAN, 4, 6, NAN, NAN, NAN}));
}

// Weights are multiples of 1/16 and exact: what is between two integers goes to the even one.
TEST(Resize, InterpolatesEveryNumberType) {
  How how;
  how.mode = "linear";
  const auto doubled = [&](const Value &x, const Value &expected) {
    node(how).input(x).absent().input(floats({1}, {2})).expect(expected).run();
  };
  doubled(tensor<uint8_t>({3}, {0, 2, 255}), tensor<uint8_t>({6}, {0, 0, 2, 65, 192, 255}));
  doubled(tensor<int8_t>({2}, {-128, 126}), tensor<int8_t>({4}, {-128, -64, 62, 126}));
  doubled(tensor<uint16_t>({2}, {0, 65535}), tensor<uint16_t>({4}, {0, 16384, 49151, 65535}));
  doubled(tensor<int16_t>({2}, {-32768, 32766}),
          tensor<int16_t>({4}, {-32768, -16384, 16382, 32766}));
  const int32_t least = INT32_MIN;
  doubled(tensor<int32_t>({2}, {least, least + 4}),
          tensor<int32_t>({4}, {least, least + 1, least + 3, least + 4}));
  doubled(tensor<uint32_t>({2}, {UINT32_MAX - 4, UINT32_MAX}),
          tensor<uint32_t>({4}, {UINT32_MAX - 4, UINT32_MAX - 3, UINT32_MAX - 1, UINT32_MAX}));
  const int64_t wide = INT64_C(1) << 50;
  doubled(tensor<int64_t>({2}, {wide, wide + 4}),
          tensor<int64_t>({4}, {wide, wide + 1, wide + 3, wide + 4}));
  doubled(tensor<uint64_t>({2}, {uint64_t(wide), uint64_t(wide) + 4}),
          tensor<uint64_t>(
              {4}, {uint64_t(wide), uint64_t(wide) + 1, uint64_t(wide) + 3, uint64_t(wide) + 4}));
  // 1 and 2, and between them 1.25 and 1.75.
  doubled(tensor<uint16_t>({2}, {0x3c00, 0x4000}, LK_F16),
          tensor<uint16_t>({4}, {0x3c00, 0x3d00, 0x3f00, 0x4000}, LK_F16));
  doubled(tensor<uint16_t>({2}, {0x3f80, 0x4000}, LK_BF16),
          tensor<uint16_t>({4}, {0x3f80, 0x3fa0, 0x3fe0, 0x4000}, LK_BF16));
  node(how)
      .input(tensor<double>({2}, {1, 1 + 0x1p-40}))
      .absent()
      .input(floats({1}, {2}))
      .expect(tensor<double>({4}, {1, 1 + 0x1p-42, 1 + 0x1.8p-41, 1 + 0x1p-40}))
      .within(lk::EXACTLY)
      .run();
}

TEST(Resize, IntegersAreHeldWithinTheirRange) {
  How how;
  how.mode = "cubic"; // beyond a step it swings out
  const auto doubled = [&](const Value &x, const Value &expected) {
    node(how).input(x).absent().input(floats({1}, {2})).expect(expected).run();
  };
  doubled(tensor<uint8_t>({4}, {0, 0, 255, 255}),
          tensor<uint8_t>({8}, {0, 0, 0, 58, 197, 255, 255, 255}));
  doubled(tensor<int64_t>({4}, {INT64_MIN, INT64_MIN, INT64_MAX, INT64_MAX}),
          tensor<int64_t>({8}, {INT64_MIN, INT64_MIN, INT64_MIN, INT64_C(-5044031582654955520),
                                INT64_C(5044031582654955520), INT64_MAX, INT64_MAX, INT64_MAX}));
  doubled(
      tensor<uint64_t>({4}, {0, 0, UINT64_MAX, UINT64_MAX}),
      tensor<uint64_t>({8}, {0, 0, 0, UINT64_C(4179340454199820288), UINT64_C(14267403619509731328),
                             UINT64_MAX, UINT64_MAX, UINT64_MAX}));
}

// Large enough for threads, with rows that are no multiple of what is summed together.
TEST(Resize, ThreadsShareTheWork) {
  How how;
  how.mode = "linear";
  how.antialias = true;
  const Value x = lk::random({1, 3, 123, 201}, 7);
  by_sizes(x, {1, 3, 61, 80}, how).run();
  by_sizes(x, {1, 3, 61, 80}, how, LK_LAYOUT_CHANNELS_LAST).run();
  by_sizes(lk::random({1, 3000}, 7), {40, 1000}, how).run(); // one dimension grows
  how.mode = "nearest";
  by_sizes(x, {1, 3, 150, 170}, how).within(lk::EXACTLY).run();
  How up;
  up.mode = "linear";
  std::vector<uint8_t> bytes(40000), twice;
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<uint8_t>(i * i % 64 * 4);
  for (size_t i = 0; i < bytes.size(); i++) { // quarters of multiples of 4: whole numbers
    const int left = bytes[i == 0 ? 0 : i - 1], at = bytes[i];
    const int right = bytes[i + 1 == bytes.size() ? i : i + 1];
    twice.push_back(static_cast<uint8_t>((left + 3 * at) / 4));
    twice.push_back(static_cast<uint8_t>((3 * at + right) / 4));
  }
  node(up)
      .input(tensor<uint8_t>({40000}, bytes))
      .absent()
      .input(floats({1}, {2}))
      .expect(tensor<uint8_t>({80000}, twice))
      .run();
}

// A linear tf_crop_and_resize from 5 to 3 elements of type u8, whose region is told when binding.
class Cropping {
public:
  Cropping() {
    const lk_api *api = lk::api();
    LK_EXPECT_OK(host_context_create(LK_CACHE_DEFAULT, 0, allocator.get(), context_.out(), LK_ERR));
    LK_EXPECT_OK(api->executor_create(context_, nullptr, executor_.out(), LK_ERR));
    const char mode[] = "linear", coordinates[] = "tf_crop_and_resize";
    const lk_attr attrs[] = {
        {"mode", LK_ATTR_STRING, sizeof mode - 1, mode},
        {"coordinate_transformation_mode", LK_ATTR_STRING, sizeof coordinates - 1, coordinates}};
    lk_node_input inputs[4] = {};
    inputs[2].flags = LK_INPUT_ABSENT;
    lk_node_desc desc = host_node("Resize", inputs, 4);
    desc.n_attrs = 2;
    desc.attrs = attrs;
    LK_EXPECT_OK(api->op_create(executor_, &desc, op_.out(), LK_ERR));
  }

  lk_status bind(float end, Plan *plan) {
    float roi[] = {0, end};
    int64_t sizes[] = {3};
    lk_tensor inputs[4] = {};
    inputs[0].desc = lk::desc_of(LK_U8, {5});
    inputs[1] = {lk::desc_of(LK_F32, {2}), roi};
    inputs[3] = {lk::desc_of(LK_I64, {1}), sizes};
    const lk_bind_desc desc = host_bind(inputs, 4);
    return lk::api()->op_bind(op_, &desc, plan->out(), LK_ERR);
  }

  lk::FailingAllocator allocator;

private:
  lk::Context context_;
  lk::Executor executor_;
  lk::Op op_;
};

// The region decides weights and not the shape, but is in the key by value all the same.
TEST(Resize, EveryRegionHasAPlanOfItsOwn) {
  Cropping node;
  Plan half, whole, again;
  LK_ASSERT_OK(node.bind(0.5f, &half));
  LK_ASSERT_OK(node.bind(1, &whole));
  LK_ASSERT_OK(node.bind(0.5f, &again));
  EXPECT_NE(half.get(), whole.get());
  EXPECT_EQ(half.get(), again.get());
}

// Each allocation of a bind fails in turn: no plan, or one that did not need it; nothing is left
// behind.
TEST(Resize, FailsWithoutMemory) {
  size_t failures = 0;
  for (size_t nth = 1;; nth++) {
    ASSERT_LT(nth, 500u);
    Cropping node;
    Plan plan;
    node.allocator.fail_at(nth);
    const lk_status status = node.bind(2, &plan);
    const bool failed = node.allocator.failed();
    node.allocator.fail_never();
    EXPECT_EQ(plan.get() != nullptr, status == LK_OK);
    if (!failed) break;
    if (status == LK_OK) continue;
    EXPECT_EQ(status, LK_OUT_OF_MEMORY);
    failures++;
  }
  EXPECT_GE(failures, 1u); // the plan is one block
}

TEST(Resize, HalfPixelsForNearestNeighbours) {
  How how;
  how.coordinates = "tf_half_pixel_for_nn";
  node(how, 11)
      .input(floats({1, 4}, {1, 2, 3, 4}))
      .constant(floats({0}, {}))
      .constant(floats({2}, {1, 2}))
      .expect(floats({1, 8}, {1, 2, 2, 3, 3, 4, 4, 4}))
      .run();
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
      .expect_bind(LK_INVALID_ARGUMENT, "its size is 0");
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
      .expect_bind(LK_OUT_OF_RANGE, "2^62");
  node(How())
      .input(floats({1}, {1}))
      .absent()
      .absent()
      .input(ints({INT64_C(1) << 60}))
      .expect_bind(LK_OUT_OF_RANGE, "2^47");
  node(How())
      .input(x)
      .absent()
      .absent()
      .input(ints({1, 1, -4, 4}))
      .expect_bind(LK_INVALID_ARGUMENT, "-4");
  How linear;
  linear.mode = "linear";
  node(linear)
      .input(tensor<uint8_t>({2, 2}, {0, 1, 1, 0}, LK_BOOL))
      .absent()
      .input(floats({2}, {2, 2}))
      .expect_bind(LK_UNSUPPORTED, "bool");
  node(linear)
      .input(floats({1}, {1}))
      .absent()
      .absent()
      .input(ints({INT64_C(1) << 60}))
      .expect_bind(LK_OUT_OF_RANGE, "2^47");
}

TEST(Resize, NamesWhatIsWrongWithTheRegion) {
  How crop;
  crop.coordinates = "tf_crop_and_resize";
  const auto refuses = [&](const Value &roi, const char *part,
                           lk_status status = LK_INVALID_ARGUMENT) {
    node(crop)
        .input(lk::random({2, 2}, 1))
        .input(roi)
        .absent()
        .input(ints({4, 4}))
        .expect_bind(status, part);
  };
  refuses(floats({0}, {}), "roi is missing");
  refuses(floats({2}, {0, 1}), "4 f32");
  refuses(floats({2, 2}, {0, 0, 1, 1}), "4 f32");
  refuses(ints({0, 0, 1, 1}), "input 1 is of type i64", LK_UNSUPPORTED);
  refuses(floats({4}, {0, 0, 1, NAN}), "finite");
  refuses(floats({4}, {-INFINITY, 0, 1, 1}), "finite");
  node(crop)
      .input(lk::random({2}, 1))
      .absent()
      .absent()
      .input(ints({4}))
      .expect_bind(LK_INVALID_ARGUMENT, "roi is missing");
}

} // namespace
