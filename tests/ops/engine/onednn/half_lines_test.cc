// Reductions and Resize of f16 and bf16 by oneDNN's engine, against plain loops and `native`.
#include "tests/ops/engine/onednn/halves.h"
#include "tests/ops/reference.h"
#include "tests/ops/resize_reference.h"

namespace {

using lk::Case;
using lk::Dims;
using lk::Draw;
using lk::Host;
using lk::Value;
using lk::resize::Axis;
using lk::resize::How;

// Sums of numbers of about 1, which cancel.
constexpr double kOfF32 = 2e-5;

class HalfLines : public lk::HalvesByBoth {
protected:
  static Value random(Draw *draw, const Dims &dims) { return HalvesByBoth::random(draw, dims, 2); }
};

// Over `axis` and those behind it.
Case case_of(const char *op, const Value &x, size_t axis) {
  std::vector<int64_t> axes;
  for (size_t i = axis; i < x.dims().size(); i++) axes.push_back(int64_t(i));
  Case made;
  made.node.op = op;
  made.node.opset = 18;
  made.node.constants = {lk::ints(axes)};
  made.inputs = {x, made.node.constants[0]};
  return made;
}

Value reduced(const Case &of, size_t axis) {
  const Value &x = of.inputs[0];
  Dims dims = x.dims();
  size_t line = 1;
  for (size_t i = axis; i < dims.size(); i++) line *= size_t(dims[i]), dims[i] = 1;
  const std::vector<double> numbers = lk::numbers_of_halves(x);
  std::vector<double> out;
  for (size_t first = 0; first < numbers.size(); first += line) {
    double sum = 0, product = 1;
    for (size_t i = first; i < first + line; i++) sum += numbers[i], product *= numbers[i];
    out.push_back(of.node.op == "ReduceProd"   ? product
                  : of.node.op == "ReduceMean" ? sum / double(line)
                                               : sum);
  }
  return lk::halves(x.desc.dtype, dims, out);
}

TEST_P(HalfLines, AreReducedAsByPlainLoops) {
  Draw draw(1);
  for (int i = 0; i < 400; i++) {
    const size_t rank = size_t(draw.in(1, 4)), axis = size_t(draw.in(0, int64_t(rank) - 1));
    const Value x = random(&draw, draw.dims(rank, 1, rank > 2 ? 7 : 90));
    const char *op = draw.of<const char *>({"ReduceSum", "ReduceMean", "ReduceProd"});
    Case each = case_of(op, x, axis);
    each.layout = draw.layout(rank);
    each.wish = draw.wish(rank);
    SCOPED_TRACE("case " + std::to_string(i) + ", " + op + " of " + lk::text_of(x.desc));
    expect_right(each, reduced(each, axis), kOfF32);
    if (HasFatalFailure()) return;
  }
  if (is_computed()) {
    EXPECT_GT(onednn.works(), 120u);
    EXPECT_EQ(onednn.stats().engine_references, 0u); // none was built in vain
  }
}

TEST_P(HalfLines, OfSpecialNumbersAreReducedAsByNative) {
  const double huge = HUGE_VAL, most = dtype() == LK_F16 ? 65504 : 3e38;
  const std::vector<std::vector<double>> rows = {{1, 2, 3, 4},
                                                 {NAN, 1, 2, 3},
                                                 {huge, 1, 2, huge},
                                                 {-huge, huge, 1, 2},
                                                 {-0.0, -0.0, -0.0, -0.0},
                                                 {huge, 0, 1, 2},
                                                 {most, most, most, most},
                                                 {1, -huge, 3, most}};
  std::vector<double> numbers;
  for (const auto &row : rows) numbers.insert(numbers.end(), row.begin(), row.end());
  const Value x = lk::halves(dtype(), {int64_t(rows.size()), 4}, numbers);
  for (const char *op : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax"}) {
    SCOPED_TRACE(op);
    const uint64_t before = onednn.works();
    Value expected, computed;
    native.run(case_of(op, x, 1), &expected);
    onednn.run(case_of(op, x, 1), &computed);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(lk::are_neighbours(expected, computed));
    const bool is_taken = std::string(op) != "ReduceMax" && is_computed();
    EXPECT_EQ(onednn.works() - before, is_taken ? 1u : 0u);
  }
}

Case case_of(const How &how, const Value &x, const std::vector<int64_t> &sizes) {
  Case made;
  made.node.op = "Resize";
  made.node.opset = 18;
  made.node.texts = {{"mode", how.mode},
                     {"coordinate_transformation_mode", how.coordinates},
                     {"nearest_mode", how.nearest}};
  made.node.constants = {lk::tensor<float>({0}, {}), lk::tensor<float>({0}, {}), lk::ints(sizes)};
  made.inputs = {x, made.node.constants[0], made.node.constants[1], made.node.constants[2]};
  return made;
}

TEST_P(HalfLines, AreResizedAsByPlainLoops) {
  Draw draw(2);
  for (int i = 0; i < 400; i++) {
    How how;
    how.mode = draw.of<std::string>({"nearest", "linear", "linear"});
    how.coordinates = draw.of<std::string>({"half_pixel", "half_pixel", "asymmetric"});
    how.nearest = draw.of<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor"});
    const size_t rank = size_t(draw.in(3, 5));
    const Value x = random(&draw, draw.dims(rank, 1, 6));
    std::vector<int64_t> sizes = x.dims();
    for (size_t k = 2; k < rank; k++) sizes[k] *= draw.of<int64_t>({1, 2, 2, 3, 4});
    Case each = case_of(how, x, sizes);
    each.layout = draw.maybe() ? LK_LAYOUT_PLAIN : LK_LAYOUT_CHANNELS_LAST;
    each.wish = draw.wish(rank);
    SCOPED_TRACE("case " + std::to_string(i) + ", " + how.mode + " of " + lk::text_of(x.desc));
    std::vector<Axis> axes;
    for (size_t k = 0; k < rank; k++) {
      axes.push_back(lk::resize::axis_by_size(x.dims()[k], sizes[k]));
    }
    const Value real = lk::resize::resized(lk::cast(&native, x, LK_F32), axes, how);
    const std::vector<float> numbers = real.as<float>();
    expect_right(each, lk::halves(dtype(), sizes, {numbers.begin(), numbers.end()}), kOfF32);
    if (HasFatalFailure()) return;
  }
  if (is_computed()) {
    EXPECT_GT(onednn.works(), 60u);
    EXPECT_EQ(onednn.stats().engine_references, 0u); // none was built in vain
  }
}

TEST_P(HalfLines, OfSpecialNumbersAreResizedAsByNative) {
  const Value x =
      lk::halves(dtype(), {1, 2, 3, 3},
                 {HUGE_VAL, 1, 2, -0.0, 0, 5, 6, 7, -HUGE_VAL, 1, 2, 3, 4, NAN, 6, 7, 60000, 9});
  for (const char *mode : {"nearest", "linear"}) {
    for (const lk_layout layout : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}) {
      How how;
      how.mode = mode;
      how.nearest = "round_prefer_floor";
      Case each = case_of(how, x, {1, 2, 6, 6});
      each.layout = each.wish = layout;
      const uint64_t before = onednn.works();
      Value expected, computed;
      native.run(each, &expected);
      onednn.run(each, &computed);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(lk::are_neighbours(expected, computed));
      EXPECT_EQ(onednn.works() - before, is_computed() ? 1u : 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, HalfLines, ::testing::Values(uint32_t(LK_F16), uint32_t(LK_BF16)),
                         [](const auto &of) { return lk::name_of_half(of.param); });

} // namespace
