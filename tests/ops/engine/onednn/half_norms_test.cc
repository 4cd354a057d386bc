// Norms of f16 and bf16 by oneDNN's engine, against plain loops and against `native`: layer norms
// with scales and shifts of both types, instance and group norms, and LRN.
#include "tests/ops/engine/onednn/halves.h"
#include "tests/ops/engine/onednn/module.h"
#include "tests/ops/reference.h"

namespace {

using lk::api;
using lk::Case;
using lk::Dims;
using lk::Draw;
using lk::Host;
using lk::Value;

// Numbers of about 1 that cancel are within the digits of f32 of what is right.
constexpr double kOfF32 = 4e-6;

class HalfNorms : public lk::HalvesByBoth {
protected:
  static Value random(Draw *draw, const Dims &dims) { return HalvesByBoth::random(draw, dims, 4); }
};

// What is normed together: `span` numbers from `first` on; scale and shift of number i.
template <typename Of>
void norm(std::vector<double> *of, const std::vector<size_t> &places, bool is_centered,
          double epsilon, const Of &scaled) {
  double mean = 0, variance = 0;
  for (const size_t i : places) mean += (*of)[i];
  mean = is_centered ? mean / double(places.size()) : 0;
  for (const size_t i : places) variance += ((*of)[i] - mean) * ((*of)[i] - mean);
  variance /= double(places.size());
  for (const size_t i : places)
    (*of)[i] = scaled(i, ((*of)[i] - mean) / std::sqrt(variance + epsilon));
}

Value layer_norm(const Value &x, size_t axis, bool is_centered, double epsilon,
                 const std::vector<double> &scale, const std::vector<double> &shift) {
  const Dims dims = x.dims();
  const size_t row = size_t(lk::count_of(Dims(dims.begin() + int64_t(axis), dims.end())));
  std::vector<double> numbers = lk::numbers_of_halves(x);
  for (size_t first = 0; first < numbers.size(); first += row) {
    std::vector<size_t> places(row);
    std::iota(places.begin(), places.end(), first);
    norm(&numbers, places, is_centered, epsilon, [&](size_t i, double y) {
      return (scale.empty() ? 1 : scale[i - first]) * y + (shift.empty() ? 0 : shift[i - first]);
    });
  }
  return lk::halves(x.desc.dtype, dims, numbers);
}

Value group_norm(const Value &x, int64_t groups, const Value &scale, const Value &shift) {
  const Dims dims = x.dims();
  const std::vector<double> a = lk::numbers_of_halves(scale), b = lk::numbers_of_halves(shift);
  const size_t channels = size_t(dims[1]), all = size_t(lk::count_of(dims));
  const size_t plane = all / size_t(dims[0]) / channels, span = channels / size_t(groups) * plane;
  std::vector<double> numbers = lk::numbers_of_halves(x);
  for (size_t first = 0; first < all; first += span) {
    std::vector<size_t> places(span);
    std::iota(places.begin(), places.end(), first);
    norm(&numbers, places, true, 1e-5, [&](size_t i, double y) {
      const size_t channel = i / plane % channels;
      return a[channel] * y + b[channel];
    });
  }
  return lk::halves(x.desc.dtype, dims, numbers);
}

Case case_of_layer(const Value &x, int64_t axis, bool is_centered) {
  Case made;
  made.node.op = is_centered ? "LayerNormalization" : "RMSNormalization";
  made.node.opset = is_centered ? 17 : 23;
  made.node.ints = {{"axis", {axis}}};
  made.inputs = {x};
  return made;
}

TEST_P(HalfNorms, OfRowsAreThoseOfPlainLoops) {
  Draw draw(1);
  int whole = 0; // taken as they are, and not as f32
  for (int i = 0; i < 400; i++) {
    const size_t rank = size_t(draw.in(1, 4)), axis = size_t(draw.in(0, int64_t(rank) - 1));
    const Value x = random(&draw, draw.dims(rank, 1, rank > 2 ? 7 : 60));
    const Dims dims = x.dims(), row(dims.begin() + int64_t(axis), dims.end());
    const bool is_centered = draw.maybe();
    Case each = case_of_layer(x, int64_t(axis), is_centered);
    each.inputs.push_back(random(&draw, row));
    if (is_centered && draw.maybe()) each.inputs.push_back(random(&draw, row));
    if (draw.maybe()) each.node.constants.assign(each.inputs.begin() + 1, each.inputs.end());
    each.layout = draw.layout(rank);
    each.wish = draw.wish(rank);
    SCOPED_TRACE("case " + std::to_string(i) + ", " + lk::text_of(x.desc));
    const std::vector<double> shift =
        each.inputs.size() > 2 ? lk::numbers_of_halves(each.inputs[2]) : std::vector<double>();
    expect_right(
        each, layer_norm(x, axis, is_centered, 1e-5, lk::numbers_of_halves(each.inputs[1]), shift),
        kOfF32);
    if (HasFatalFailure()) return;
    whole += lk::steps_of(&onednn, each) == 1 ? 1 : 0;
  }
  if (is_computed()) {
    EXPECT_GT(whole, 100);
    EXPECT_EQ(onednn.stats().engine_references, 0u); // none was built in vain
  }
}

TEST_P(HalfNorms, OfChannelsAreThoseOfPlainLoops) {
  Draw draw(2);
  for (int i = 0; i < 120; i++) {
    const int64_t groups = draw.in(1, 6), channels = groups * (draw.maybe() ? 1 : draw.in(1, 20));
    Dims dims = {draw.in(1, 3), channels};
    for (int64_t rank = draw.in(1, 3); rank > 0; rank--) dims.push_back(draw.in(2, 6));
    const bool is_instance = draw.maybe();
    Case each;
    each.node.op = is_instance ? "InstanceNormalization" : "GroupNormalization";
    each.node.opset = is_instance ? 22 : 21;
    if (!is_instance) each.node.ints = {{"num_groups", {groups}}};
    each.inputs = {random(&draw, dims), random(&draw, {channels}), random(&draw, {channels})};
    if (draw.maybe()) each.node.constants.assign(each.inputs.begin() + 1, each.inputs.end());
    each.layout = draw.of<lk_layout>({LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_PLAIN});
    each.wish = draw.wish(dims.size());
    SCOPED_TRACE("case " + std::to_string(i) + ", " + lk::text_of(each.inputs[0].desc));
    expect_right(
        each,
        group_norm(each.inputs[0], is_instance ? channels : groups, each.inputs[1], each.inputs[2]),
        kOfF32);
    if (HasFatalFailure()) return;
  }
}

// oneDNN would convert one number after the other.
TEST_P(HalfNorms, OfChannelsAreTakenAsTheyAreWhereTheseLieLast) {
  Draw draw(3);
  for (const lk_layout layout : {LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_PLAIN}) {
    Case each;
    each.node.op = "InstanceNormalization";
    each.inputs = {random(&draw, {2, 16, 4, 4}), random(&draw, {16}), random(&draw, {16})};
    each.layout = each.wish = layout;
    const bool is_whole = layout == LK_LAYOUT_CHANNELS_LAST && is_computed();
    EXPECT_EQ(lk::steps_of(&onednn, each) == 1, is_whole);
  }
  if (lk::kHasPrimitives) {
    EXPECT_THAT(reason(),
                ::testing::HasSubstr(is_computed() ? "do not lie last" : "no instructions"));
  }
}

Value lrn(const Value &x, int64_t size, double alpha, double beta) {
  const Dims dims = x.dims();
  const std::vector<double> numbers = lk::numbers_of_halves(x);
  std::vector<double> out;
  lk::ref::each(dims, [&](const Dims &at) {
    double sum = 0;
    Dims place = at;
    const int64_t first = at[1] - (size - 1) / 2;
    for (int64_t c = std::max<int64_t>(first, 0); c < std::min(first + size, dims[1]); c++) {
      place[1] = c;
      const double other = numbers[lk::ref::offset(dims, place)];
      sum += other * other;
    }
    out.push_back(numbers[lk::ref::offset(dims, at)] *
                  std::pow(1 + alpha / double(size) * sum, -beta));
  });
  return lk::halves(x.desc.dtype, dims, out);
}

TEST_P(HalfNorms, OfLocalResponsesAreThoseOfPlainLoops) {
  Draw draw(4);
  uint64_t whole = 0;
  for (int i = 0; i < 200; i++) {
    const size_t rank = draw.in(0, 5) == 0 ? 3 : 4;
    const int64_t size = draw.of<int64_t>({1, 2, 3, 5, 7, 15, 17});
    const float beta = draw.of<float>({0.75F, 0.75F, 1, 0.5F});
    Case each;
    each.node.op = "LRN";
    each.node.ints = {{"size", {size}}};
    each.node.floats = {{"alpha", {0.5F}}, {"beta", {beta}}};
    each.inputs = {random(&draw, draw.dims(rank, 1, draw.maybe() ? 4 : 20))};
    each.layout = draw.of<lk_layout>({LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_PLAIN});
    each.wish = draw.wish(rank);
    SCOPED_TRACE("case " + std::to_string(i) + ", " + lk::text_of(each.inputs[0].desc));
    expect_right(each, lrn(each.inputs[0], size, double(0.5F), double(beta)), kOfF32);
    if (HasFatalFailure()) return;
    whole += lk::steps_of(&onednn, each) == 1 ? 1 : 0;
  }
  if (is_computed()) {
    EXPECT_GT(whole, 20u);
  }
}

// Of f32 and of the type of src: a run makes the latter f32, for oneDNN. No operator has a scale of
// f32 beside src of a half type.
TEST_P(HalfNorms, TakeScalesAndShiftsOfBothTypes) {
  const lk::Module alone;
  Draw draw(5);
  for (uint32_t i = 0; i < 64; i++) {
    const bool is_group = (i & 32) != 0;
    const int64_t channels = draw.in(2, 70);
    const Dims dims = is_group ? Dims{2, channels, 5} : Dims{draw.in(1, 9), channels};
    const Value x = random(&draw, dims);
    lk_work work = {};
    work.kind = is_group ? LK_WORK_GROUP_NORM : LK_WORK_LAYER_NORM;
    work.tensors[LK_ROLE_SRC] = work.tensors[LK_ROLE_DST] = x.desc;
    work.roles = 1U << LK_ROLE_SRC | 1U << LK_ROLE_DST;
    work.axes = is_group ? 0 : 2;
    work.groups = is_group ? channels : 0;
    work.epsilon = 1e-5F;
    work.is_centered = 1;
    std::vector<lk::Memory> memory;
    std::vector<void *> pointers;
    for (const uint32_t role : {LK_ROLE_SRC, LK_ROLE_DST}) {
      work.tensors[role].layout = is_group ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
      memory.push_back(x.in(lk_layout(work.tensors[role].layout)));
      pointers.push_back(memory.back().data());
    }
    Value scaling[2];
    for (uint32_t k = 0; k < 2; k++) { // scale, shift
      const bool is_there = (i >> k & 1) != 0, is_f32 = (i >> (2 + k) & 1) != 0;
      scaling[k] = lk::halves(dtype(), {channels}, std::vector<double>(size_t(channels), 1.0 - k));
      if (!is_there) continue;
      scaling[k] = random(&draw, {channels});
      const Value given = is_f32 ? lk::cast(&native, scaling[k], LK_F32) : scaling[k];
      const uint32_t role = k == 0 ? LK_ROLE_SCALE : LK_ROLE_SHIFT;
      work.roles |= 1U << role;
      work.tensors[role] = given.desc;
      memory.push_back(given.in(LK_LAYOUT_PLAIN));
      pointers.push_back(memory.back().data());
    }
    SCOPED_TRACE("case " + std::to_string(i));
    ASSERT_EQ(alone.offers(work).is_made, is_computed());
    if (!is_computed()) continue;
    alone.run(work, pointers);
    if (HasFatalFailure()) return;
    const Value found = Value::from(work.tensors[LK_ROLE_DST], memory[1].data());
    const Value right = is_group ? group_norm(x, channels, scaling[0], scaling[1])
                                 : layer_norm(x, 1, true, 1e-5, lk::numbers_of_halves(scaling[0]),
                                              lk::numbers_of_halves(scaling[1]));
    ASSERT_TRUE(lk::are_neighbours(right, found, kOfF32));
  }
}

// A row with a NaN or an infinity has no number left, and the others are what they were.
TEST_P(HalfNorms, OfSpecialNumbersAreThoseOfNative) {
  Draw draw(6);
  const double special[] = {NAN, HUGE_VAL, -HUGE_VAL};
  for (const bool is_centered : {false, true}) {
    std::vector<double> numbers;
    for (int row = 0; row < 8; row++) {
      for (int i = 0; i < 48; i++) {
        const double number = row == 7 ? 0.5 : double(draw.in(-256, 256)) / 64;
        numbers.push_back(row < 3 && i == 17 ? special[row] : number);
      }
    }
    Case each = case_of_layer(lk::halves(dtype(), {8, 48}, numbers), 1, is_centered);
    each.inputs.push_back(random(&draw, {48}));
    Value expected, computed;
    native.run(each, &expected);
    onednn.run(each, &computed);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(lk::are_neighbours(expected, computed, kOfF32));
    // the same numbers as eight images of channels
    Case images;
    images.node.op = "InstanceNormalization";
    images.inputs = {each.inputs[0], random(&draw, {6}), random(&draw, {6})};
    images.inputs[0].desc = lk::desc_of(dtype(), {8, 6, 4, 2});
    images.layout = images.wish = LK_LAYOUT_CHANNELS_LAST;
    native.run(images, &expected);
    onednn.run(images, &computed);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(lk::are_neighbours(expected, computed, kOfF32));
    images.node.op = "LRN";
    images.node.ints = {{"size", {3}}};
    images.inputs.resize(1);
    native.run(images, &expected);
    onednn.run(images, &computed);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(lk::are_neighbours(expected, computed, kOfF32));
  }
}

TEST_P(HalfNorms, OfNothingAreEmpty) {
  for (const Dims &dims : {Dims{0, 8}, Dims{3, 0}}) {
    Case each = case_of_layer(lk::halves(dtype(), dims, {}), 1, true);
    each.inputs.push_back(
        lk::halves(dtype(), {dims[1]}, std::vector<double>(size_t(dims[1]), 1.0)));
    Value computed;
    onednn.run(each, &computed);
    EXPECT_EQ(computed.dims(), dims);
  }
  EXPECT_EQ(onednn.works(), 0u);
}

INSTANTIATE_TEST_SUITE_P(, HalfNorms, ::testing::Values(uint32_t(LK_F16), uint32_t(LK_BF16)),
                         [](const auto &of) { return lk::name_of_half(of.param); });

} // namespace
