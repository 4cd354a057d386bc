// Operators that leave the bytes as they are.
#include "tests/harness/op_tester.h"

namespace {

using lk::floats;
using lk::ints;
using lk::iota;
using lk::OpTester;
using lk::tensor;
using lk::Value;

Value reshaped(Value value, const lk::Dims &dims) {
  value.desc = lk::desc_of(value.desc.dtype, dims);
  return value;
}

TEST(Identity, IsAView) {
  const Value x = iota<int16_t>({2, 3});
  OpTester("Identity", 13).input(x).expect(x).expect_alias(0).run();
  OpTester("Identity", 13).input(x).in_place(0).expect(x).run();
  OpTester("Identity", 13).constant(x).expect(x).run();
}

TEST(Identity, KeepsChannelsLast) {
  const Value x = iota<float>({2, 3, 4, 5});
  OpTester("Identity", 13)
      .channels_last(x)
      .expect(x)
      .expect_layout(LK_LAYOUT_CHANNELS_LAST)
      .expect_reorders(0)
      .run();
  OpTester("Identity", 13).channels_last(x).wish(LK_LAYOUT_PLAIN).expect(x).run();
}

TEST(Dropout, PassesDataAndFillsTheMask) {
  const Value x = floats({3}, {1, -2, 3});
  OpTester("Dropout", 7).attr_float("ratio", 0.5f).input(x).expect(x).expect_alias(0).run();
  OpTester("Dropout", 7).input(x).expect(x).expect(floats({3}, {1, 1, 1})).run();
  OpTester("Dropout", 10).input(x).expect(x).expect(tensor<uint8_t>({3}, {1, 1, 1}, LK_BOOL)).run();
  OpTester("Dropout", 13)
      .input(x)
      .input(floats({}, {0.3f}))
      .input(tensor<uint8_t>({}, {0}, LK_BOOL))
      .expect(x)
      .expect(tensor<uint8_t>({3}, {1, 1, 1}, LK_BOOL))
      .run();
}

TEST(Dropout, RefusesTraining) {
  OpTester("Dropout", 13)
      .input(floats({1}, {1}))
      .absent()
      .input(tensor<uint8_t>({}, {1}, LK_BOOL))
      .expect_bind(LK_UNSUPPORTED, "training_mode");
}

struct ReshapeCase {
  lk::Dims from, shape, to;
  bool allow_zero = false;
};
TEST(Reshape, FollowsTheRules) {
  const ReshapeCase cases[] = {
      {.from = {2, 3, 4}, .shape = {4, 6}, .to = {4, 6}},
      {.from = {2, 3, 4}, .shape = {-1}, .to = {24}},
      {.from = {2, 3, 4}, .shape = {0, -1}, .to = {2, 12}},
      {.from = {2, 3, 4}, .shape = {2, 0, 2, -1}, .to = {2, 3, 2, 2}},
      {.from = {1}, .shape = {}, .to = {}},
      {.from = {}, .shape = {1, 1}, .to = {1, 1}},
      {.from = {0, 3, 4}, .shape = {0, -1}, .to = {0, 12}},
      {.from = {0, 3}, .shape = {-1, 3}, .to = {0, 3}},
      {.from = {0, 3}, .shape = {3, 0}, .to = {3, 0}, .allow_zero = true},
      {.from = {2, 0}, .shape = {0, 5, 7}, .to = {0, 5, 7}, .allow_zero = true},
      {.from = {8}, .shape = {1, 2, 1, 2, 1, 2, 1, 1}, .to = {1, 2, 1, 2, 1, 2, 1, 1}},
  };
  for (const ReshapeCase &c : cases) {
    const Value x = iota<float>(c.from);
    OpTester tester("Reshape", 14);
    if (c.allow_zero) tester.attr("allowzero", 1);
    tester.input(x).input(ints(c.shape)).expect(reshaped(x, c.to)).run();
  }
}

TEST(Reshape, NamesWhatIsWrong) {
  const Value x = iota<float>({2, 3});
  const auto reshape = [&](const lk::Dims &shape) {
    return OpTester("Reshape", 13).input(x).input(ints(shape));
  };
  reshape({-1, -1}).expect_bind(LK_INVALID_ARGUMENT, "only one -1");
  reshape({-2, 3}).expect_bind(LK_INVALID_ARGUMENT, "at least -1");
  reshape({2, 3, 0}).expect_bind(LK_INVALID_ARGUMENT, "to copy");
  reshape({4, -1}).expect_bind(LK_INVALID_ARGUMENT, "2x3:f32");
  reshape({5}).expect_bind(LK_INVALID_ARGUMENT, "number of elements");
  reshape({INT64_MAX, INT64_MAX}).expect_bind(LK_INVALID_ARGUMENT, "fewer than 2^63");
  reshape({1, 1, 1, 1, 1, 1, 1, 2, 3}).expect_bind(LK_INVALID_ARGUMENT, "at most 8");
  OpTester("Reshape", 14)
      .attr("allowzero", 1)
      .input(iota<float>({0, 2}))
      .input(ints({0, -1}))
      .expect_bind(LK_INVALID_ARGUMENT, "beside a 0");
}

TEST(Reshape, OfChannelsLastDataIsReorderedFirst) {
  const Value x = iota<float>({2, 3, 4, 5});
  OpTester("Reshape", 13)
      .channels_last(x)
      .input(ints({6, 20}))
      .expect(reshaped(x, {6, 20}))
      .expect_alias(-1)
      .expect_reorders(1)
      .run();
  // One pixel: both layouts are the same bytes.
  const Value pixel = iota<float>({2, 3, 1, 1});
  OpTester("Reshape", 13)
      .channels_last(pixel)
      .input(ints({2, 3}))
      .expect(reshaped(pixel, {2, 3}))
      .expect_alias(0)
      .expect_reorders(0)
      .run();
}

TEST(Flatten, SplitsAtTheAxis) {
  const Value x = iota<float>({2, 3, 4});
  const auto flatten = [&](int64_t axis, const lk::Dims &to) {
    OpTester("Flatten", 13).attr("axis", axis).input(x).expect(reshaped(x, to)).run();
  };
  flatten(0, {1, 24});
  flatten(2, {6, 4});
  flatten(3, {24, 1});
  flatten(-1, {6, 4});
  flatten(-3, {1, 24});
  OpTester("Flatten", 9).input(x).expect(reshaped(x, {2, 12})).expect_alias(0).run();
  OpTester("Flatten", 9).input(iota<float>({0, 3, 2})).expect(floats({0, 6}, {})).run();
  OpTester("Flatten", 13).attr("axis", 4).input(x).expect_bind(LK_INVALID_ARGUMENT, "axis is 4");
}

TEST(Squeeze, DropsOnes) {
  const Value x = iota<float>({1, 3, 1, 5});
  OpTester("Squeeze", 11).input(x).expect(reshaped(x, {3, 5})).expect_alias(0).run();
  OpTester("Squeeze", 11).attr_ints("axes", {-2}).input(x).expect(reshaped(x, {1, 3, 5})).run();
  OpTester("Squeeze", 13).input(x).input(ints({0, 2})).expect(reshaped(x, {3, 5})).run();
  OpTester("Squeeze", 13).input(x).absent().expect(reshaped(x, {3, 5})).run();
  OpTester("Squeeze", 13).input(iota<float>({1, 1})).expect(floats({}, {0})).run();
}

TEST(Squeeze, NamesWhatIsWrong) {
  const Value x = iota<float>({1, 3});
  OpTester("Squeeze", 11)
      .attr_ints("axes", {1})
      .input(x)
      .expect_bind(LK_INVALID_ARGUMENT, "its size is 3");
  OpTester("Squeeze", 13).input(x).input(ints({2})).expect_bind(LK_INVALID_ARGUMENT, "rank 2");
  OpTester("Squeeze", 13).input(x).input(ints({0, -2})).expect_bind(LK_INVALID_ARGUMENT, "once");
  OpTester("Squeeze", 13)
      .attr_ints("axes", {0})
      .input(x)
      .expect_create(LK_INVALID_ARGUMENT, "input 1");
  OpTester("Squeeze", 11).input(x).input(ints({0})).expect_bind(LK_INVALID_ARGUMENT, "opset 11");
}

TEST(Unsqueeze, InsertsOnes) {
  const Value x = iota<float>({3, 5});
  OpTester("Unsqueeze", 11)
      .attr_ints("axes", {0, 3})
      .input(x)
      .expect(reshaped(x, {1, 3, 5, 1}))
      .run();
  OpTester("Unsqueeze", 13)
      .input(x)
      .input(ints({2, -4}))
      .expect(reshaped(x, {1, 3, 1, 5}))
      .expect_alias(0)
      .run();
  OpTester("Unsqueeze", 13).input(floats({}, {7})).input(ints({0})).expect(floats({1}, {7})).run();
}

TEST(Unsqueeze, NamesWhatIsWrong) {
  const Value x = iota<float>({3, 5});
  OpTester("Unsqueeze", 11).input(x).expect_create(LK_INVALID_ARGUMENT, "'axes' is missing");
  OpTester("Unsqueeze", 13).input(x).input(ints({3})).expect_bind(LK_INVALID_ARGUMENT, "rank 3");
  OpTester("Unsqueeze", 13).input(x).input(ints({1, -3})).expect_bind(LK_INVALID_ARGUMENT, "once");
  OpTester("Unsqueeze", 13)
      .input(x)
      .input(ints({0, 1, 2, 3, 4, 5, 6}))
      .expect_bind(LK_OUT_OF_RANGE, "rank 9");
}

} // namespace
