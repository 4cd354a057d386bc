// Norms by given means and variances by oneDNN's engine, against plain loops and against `native`:
// of f32 and of both half types, in every layout, over their input, with Relu behind them.
#include "tests/ops/engine/onednn/halves.h"
#include "tests/ops/reference.h"

namespace {

using lk::api;
using lk::Case;
using lk::Dims;
using lk::Draw;
using lk::Host;
using lk::kHasPrimitives;
using lk::Value;

constexpr float kEpsilon = 0.0625F;

// Of f32, or of a half type.
Value value_of(uint32_t dtype, const Dims &dims, const std::vector<double> &numbers) {
  return dtype == LK_F32 ? lk::floats(dims, std::vector<float>(numbers.begin(), numbers.end()))
                         : lk::halves(dtype, dims, numbers);
}
std::vector<double> numbers_of(const Value &value) {
  if (value.desc.dtype != LK_F32) return lk::numbers_of_halves(value);
  const std::vector<float> numbers = value.as<float>();
  return {numbers.begin(), numbers.end()};
}

// From least / 64 to 2.
Value draw_value(Draw *draw, uint32_t dtype, const Dims &dims, int64_t least = -128) {
  std::vector<double> numbers(size_t(lk::count_of(dims)));
  for (double &number : numbers) number = double(draw->in(least, 128)) / 64;
  return value_of(dtype, dims, numbers);
}

Case case_of(Draw *draw, const Value &x) {
  const int64_t channels = x.dims()[1];
  const uint32_t dtype = x.desc.dtype;
  Case made;
  made.node.op = "BatchNormalization";
  made.node.opset = 15;
  made.node.floats = {{"epsilon", {kEpsilon}}};
  made.inputs = {x, draw_value(draw, dtype, {channels}), draw_value(draw, dtype, {channels}),
                 draw_value(draw, dtype, {channels}), draw_value(draw, dtype, {channels}, 8)};
  if (draw->maybe()) made.node.constants.assign(made.inputs.begin() + 1, made.inputs.end());
  return made;
}

Value in_loops(const Case &given) {
  std::vector<double> of[5];
  for (size_t i = 0; i < 5; i++) of[i] = numbers_of(given.inputs[i]);
  const Dims dims = given.inputs[0].dims();
  std::vector<double> out;
  lk::ref::each(dims, [&](const Dims &at) {
    const size_t c = size_t(at[1]);
    const double centered = of[0][lk::ref::offset(dims, at)] - of[3][c];
    const double y = centered / std::sqrt(of[4][c] + double(kEpsilon)) * of[1][c] + of[2][c];
    out.push_back(given.node.post_ops.empty() || y > 0 || std::isnan(y) ? y : 0);
  });
  return value_of(given.inputs[0].desc.dtype, dims, out);
}

class BatchNorms : public ::testing::TestWithParam<uint32_t> {
protected:
  static uint32_t dtype() { return GetParam(); }
  static bool is_half() { return dtype() != LK_F32; }
  static bool is_computed() { return !is_half() || lk::computes(dtype()); }
  static ::testing::AssertionResult are_equal(const Value &right, const Value &found) {
    // Sums of numbers of about 4 cancel.
    return is_half() ? lk::are_neighbours(right, found, 4e-6)
                     : lk::all_close(right, found, {4e-6, 1e-5});
  }
  void expect_right(const Case &each, const Value &right) {
    for (Host *host : {&native, &onednn}) {
      Value computed;
      host->run(each, &computed);
      if (HasFatalFailure()) return;
      ASSERT_TRUE(are_equal(right, computed)) << (host == &native ? "native" : "onednn");
    }
  }
  std::string reason() const {
    lk_engine_left_info info = {};
    info.struct_size = sizeof info;
    LK_EXPECT_OK(api()->engine_left(onednn.context, 0, &info, LK_ERR));
    return info.reason;
  }
  Host native{"native"}, onednn{"onednn"};
};

TEST_P(BatchNorms, AreThoseOfPlainLoopsInEveryLayout) {
  Draw draw(1);
  uint64_t taken = 0;
  for (int i = 0; i < 400; i++) {
    const int64_t channels = draw.in(0, 2) == 0 ? draw.in(1, 40) : 16 * draw.in(1, 4);
    Dims dims = {draw.in(1, 4), channels};
    for (int64_t rank = draw.in(0, 3); rank > 0; rank--) dims.push_back(draw.in(1, 7));
    Case each = case_of(&draw, draw_value(&draw, dtype(), dims));
    each.node.name = "y" + std::to_string(i); // no plan is that of another case
    if (draw.maybe()) each.node.post_ops = {{LK_POST_RELU, -1, 0, 0}};
    if (dims.size() > 2 && draw.in(0, 2) > 0) each.layout = LK_LAYOUT_CHANNELS_LAST;
    each.wish = draw.wish(dims.size());
    SCOPED_TRACE("case " + std::to_string(i) + ", " + lk::text_of(each.inputs[0].desc));
    expect_right(each, in_loops(each));
    if (HasFatalFailure()) return;
    const bool is_last = dims.size() == 2 || each.layout == LK_LAYOUT_CHANNELS_LAST;
    taken += is_last && channels % 16 == 0 ? 1 : 0;
    ASSERT_EQ(onednn.works(), taken);
  }
  if (kHasPrimitives) {
    EXPECT_GT(taken, 100u);
    EXPECT_EQ(onednn.stats().engine_references, 0u); // none was built in vain
  }
}

// Else oneDNN has no code that is compiled for them.
TEST_P(BatchNorms, AreOneStepOfWholeVectorsOfChannelsThatLieLast) {
  Draw draw(2);
  const struct {
    Dims dims;
    lk_layout layout;
    bool is_taken;
  } cases[] = {{{2, 32, 3, 3}, LK_LAYOUT_PLAIN, false},
               {{2, 33, 3, 3}, LK_LAYOUT_CHANNELS_LAST, false},
               {{2, 32, 3, 3}, LK_LAYOUT_CHANNELS_LAST, true},
               {{9, 48}, LK_LAYOUT_PLAIN, true}};
  for (const auto &of : cases) {
    Case each = case_of(&draw, draw_value(&draw, dtype(), of.dims));
    each.node.constants.clear();
    each.layout = each.wish = of.layout;
    EXPECT_EQ(lk::steps_of(&onednn, each) == 1, of.is_taken && is_computed());
  }
  if (is_computed()) {
    EXPECT_THAT(reason(), ::testing::HasSubstr("no multiple of 16"));
  }
}

// native does it in the same pass over memory.
TEST_P(BatchNorms, WithAnotherFunctionBehindThemAreLeft) {
  Draw draw(3);
  for (const lk_post_op &post_op :
       {lk_post_op{LK_POST_CLIP, -1, -1, 1}, {LK_POST_RELU, -1, 0.5F, 0}}) {
    Case each = case_of(&draw, draw_value(&draw, dtype(), {2, 16, 3, 3}));
    Value expected, computed;
    each.node.post_ops = {post_op};
    each.layout = each.wish = LK_LAYOUT_CHANNELS_LAST;
    native.run(each, &expected);
    onednn.run(each, &computed);
    if (HasFatalFailure()) return;
    EXPECT_EQ(expected.bytes, computed.bytes);
  }
  EXPECT_EQ(onednn.works(), 0u);
}

// A mean that is infinite leaves no number of its channel, and what is special in src stays alone.
TEST_P(BatchNorms, OfSpecialNumbersAreThoseOfNative) {
  Draw draw(4);
  const double special[] = {NAN, HUGE_VAL, -HUGE_VAL, 0.0, -0.0};
  for (const lk_layout layout : {LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_PLAIN}) {
    for (const size_t which : {0, 2, 3, 4}) { // an infinite scale is the affair of engines
      Case each = case_of(&draw, draw_value(&draw, dtype(), {2, 16, 4, 4}));
      std::vector<double> numbers = numbers_of(each.inputs[which]);
      for (size_t i = 0; i < 5; i++) numbers[i * 3] = special[i];
      each.inputs[which] = value_of(dtype(), each.inputs[which].dims(), numbers);
      each.node.constants.clear();
      each.layout = each.wish = layout;
      Value expected, computed;
      native.run(each, &expected);
      onednn.run(each, &computed);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(are_equal(expected, computed)) << "input " << which;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, BatchNorms,
                         ::testing::Values(uint32_t(LK_F32), uint32_t(LK_F16), uint32_t(LK_BF16)),
                         [](const auto &of) {
                           return of.param == LK_F32 ? std::string("F32")
                                                     : lk::name_of_half(of.param);
                         });

} // namespace
