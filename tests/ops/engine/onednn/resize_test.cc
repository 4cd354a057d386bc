// Resize by oneDNN's engine, against the formulas of ONNX in plain loops and against `native`: all
// modes, by all kinds of factors; and of special numbers what ONNX says.
#include <cmath>

#include "tests/ops/engine/host.h"
#include "tests/ops/resize_reference.h"

namespace {

using lk::Case;
using lk::Dims;
using lk::Draw;
using lk::Host;
using lk::kHasPrimitives;
using lk::Value;
using lk::resize::Axis;
using lk::resize::How;

Case case_of(const How &how, const Value &x, const std::vector<int64_t> &sizes) {
  Case made;
  made.node.op = "Resize";
  made.node.opset = 18;
  made.node.texts = {{"mode", how.mode},
                     {"coordinate_transformation_mode", how.coordinates},
                     {"nearest_mode", how.nearest}};
  if (how.antialias) made.node.ints = {{"antialias", {1}}};
  made.node.constants = {lk::tensor<float>({0}, {}), lk::tensor<float>({0}, {}), lk::ints(sizes)};
  made.inputs = {x, made.node.constants[0], made.node.constants[1], made.node.constants[2]};
  return made;
}

Value in_loops(const How &how, const Value &x, const std::vector<int64_t> &sizes) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < sizes.size(); i++) {
    axes.push_back(lk::resize::axis_by_size(x.dims()[i], sizes[i]));
  }
  return lk::resize::resized(x, axes, how);
}

TEST(Resizes, AreThoseOfPlainLoopsAndOfNative) {
  Draw draw(1);
  Host onednn("onednn"), native("native");
  for (int i = 0; i < 900; i++) {
    How how;
    how.mode = draw.of<std::string>({"nearest", "linear", "linear", "cubic"});
    how.coordinates = draw.of<std::string>({"half_pixel", "half_pixel", "pytorch_half_pixel",
                                            "align_corners", "asymmetric", "half_pixel_symmetric"});
    how.nearest =
        draw.of<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
    how.antialias = how.mode != "nearest" && draw.in(0, 5) == 0;
    const size_t rank = size_t(draw.in(3, 5));
    const Value x = lk::random(draw.dims(rank, 1, 6), draw.seed());
    std::vector<int64_t> sizes = x.dims();
    const bool is_odd = draw.in(0, 3) == 0;
    for (size_t k = draw.in(0, 9) == 0 ? 1 : 2; k < rank; k++) {
      sizes[k] = is_odd ? draw.in(1, 12) : sizes[k] * draw.of<int64_t>({1, 2, 2, 3, 4});
    }
    Case each = case_of(how, x, sizes);
    each.layout = draw.maybe() ? LK_LAYOUT_PLAIN : LK_LAYOUT_CHANNELS_LAST;
    each.wish = draw.wish(rank);
    SCOPED_TRACE("case " + std::to_string(i) + ", " + how.mode + " " + how.coordinates);
    const Value expected = in_loops(how, x, sizes);
    lk::expect_of_both(&native, &onednn, each, expected);
    if (HasFatalFailure()) return;
  }
  if (kHasPrimitives) {
    EXPECT_GT(onednn.works(), 80u);
    EXPECT_EQ(onednn.stats().engine_references, 0u); // none was built in vain
  }
}

TEST(Resizes, AreTakenWhereEveryPositionIsThatOfOnnx) {
  const struct {
    How how;
    std::vector<int64_t> sizes;
    bool is_taken;
  } cases[] = {
      {{"nearest", "half_pixel", "round_prefer_floor"}, {1, 2, 6, 9}, true},
      {{"nearest", "half_pixel", "round_prefer_ceil"}, {1, 2, 3, 48}, true},
      {{"nearest", "asymmetric", "floor"}, {1, 2, 6, 6}, true},
      {{"nearest", "asymmetric", "round_prefer_floor"}, {1, 2, 6, 6}, false},
      {{"nearest", "half_pixel", "floor"}, {1, 2, 6, 6}, false},
      {{"nearest", "half_pixel", "round_prefer_floor"}, {1, 2, 5, 6}, false},
      {{"nearest", "half_pixel", "round_prefer_floor"}, {1, 4, 6, 6}, false},
      {{"nearest", "half_pixel", "round_prefer_floor"}, {1, 2, 3, 51}, false},
      {{"linear", "half_pixel", "floor"}, {1, 2, 6, 12}, true},
      {{"linear", "pytorch_half_pixel", "floor"}, {1, 2, 6, 12}, true},
      {{"linear", "half_pixel", "floor"}, {1, 2, 6, 9}, false},
      {{"linear", "half_pixel", "floor"}, {1, 2, 3, 6}, false},
      {{"linear", "align_corners", "floor"}, {1, 2, 6, 6}, false},
      {{"linear", "asymmetric", "floor"}, {1, 2, 6, 6}, false},
      {{"cubic", "half_pixel", "floor"}, {1, 2, 6, 6}, false},
  };
  const Value x = lk::tensor<float>({1, 2, 3, 3}, {INFINITY, 1, 2, -0.0F, 1e-40F, 5, 6, 7,
                                                   -INFINITY, 1, 2, 3, 4, NAN, 6, 7, 3e38F, 9});
  Host onednn("onednn"), native("native");
  for (const auto &each : cases) {
    SCOPED_TRACE(each.how.mode + " " + each.how.coordinates + " " + each.how.nearest);
    const uint64_t before = onednn.works();
    Value computed, expected;
    onednn.run(case_of(each.how, x, each.sizes), &computed);
    native.run(case_of(each.how, x, each.sizes), &expected);
    if (HasFatalFailure()) return;
    EXPECT_EQ(onednn.works() - before, each.is_taken && kHasPrimitives ? 1u : 0u);
    if (each.how.mode == "nearest") {
      EXPECT_EQ(expected.bytes, computed.bytes);
    } else if (each.is_taken) {
      const Value loops = in_loops(each.how, x, each.sizes);
      for (size_t i = 0; i < loops.as<float>().size(); i++) {
        const float right = loops.as<float>()[i], found = computed.as<float>()[i];
        EXPECT_TRUE(std::isnan(right) ? std::isnan(found)
                                      : right == found || std::fabs(right - found) <=
                                                              1e-6F * std::fabs(right) + 1e-6F)
            << "element " << i << ": " << found << ", not " << right;
      }
    }
  }
}

// So large that oneDNN writes past the caches, which wants memory at multiples of 64 bytes.
TEST(Resizes, OfLargeImagesMayLieAnywhere) {
  Host onednn("onednn"), native("native");
  How how;
  how.mode = "linear";
  how.coordinates = "half_pixel";
  for (const lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
    Case each = case_of(how, lk::random({1, 16, 256, 256}, 1), {1, 16, 512, 512});
    each.layout = each.wish = layout;
    Value expected, found;
    native.run(each, &expected);
    for (const size_t shift : {0, 1, 4, 15}) {
      onednn.shift = shift;
      onednn.run(each, &found);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(lk::all_close(expected, found)) << shift << " elements off";
    }
  }
  EXPECT_EQ(onednn.works(), kHasPrimitives ? 8u : 0u);
}

// How large is that: oneDNN does not count the caches of all threads.
TEST(Resizes, MayLieAnywhereHoweverManyThreadsThereAre) {
  Host onednn("onednn", 512), native("native");
  How how;
  how.mode = "linear";
  how.coordinates = "half_pixel";
  for (const int64_t size : {16, 64, 256}) {
    const Case each = case_of(how, lk::random({1, 16, size, size}, 1), {1, 16, 2 * size, 2 * size});
    Value expected, found;
    native.run(each, &expected);
    onednn.shift = 1;
    onednn.run(each, &found);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(lk::all_close(expected, found)) << "images of " << size;
  }
  EXPECT_EQ(onednn.works(), kHasPrimitives ? 3u : 0u);
}

} // namespace
