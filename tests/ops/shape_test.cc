// Shape helpers, and the operators that make tensors of numbers known when binding.
#include "tests/harness/op_tester.h"

// As in ops/plan/op.h, which C++ cannot read for its atomic members.
extern "C" {
int64_t lk_axis(int64_t axis, uint32_t rank);
lk_status lk_broadcast_dims(lk_dims *dims, const lk_tensor_desc *a, const lk_tensor_desc *b,
                            lk_tensor_desc *out, lk_error *error);
lk_tensor_desc lk_shape_pad_rank(const lk_tensor_desc *desc, uint32_t rank);
lk_status lk_read_ints(const lk_tensor *tensor, const char *what, int64_t *out, uint32_t capacity,
                       uint32_t *out_count, lk_error *error);
}

namespace {

using lk::Dims;
using lk::ints;
using lk::iota;
using lk::OpTester;
using lk::tensor;

TEST(ShapeHelpers, AxisCountsFromBothEnds) {
  EXPECT_EQ(lk_axis(0, 3), 0);
  EXPECT_EQ(lk_axis(2, 3), 2);
  EXPECT_EQ(lk_axis(-1, 3), 2);
  EXPECT_EQ(lk_axis(-3, 3), 0);
  EXPECT_EQ(lk_axis(3, 3), -1);
  EXPECT_EQ(lk_axis(-4, 3), -1);
  EXPECT_EQ(lk_axis(0, 0), -1);
  EXPECT_EQ(lk_axis(INT64_MIN, 8), -1);
  EXPECT_EQ(lk_axis(INT64_MAX, 8), -1);
}

Dims broadcast(const Dims &a, const Dims &b) {
  const lk_tensor_desc x = lk::desc_of(LK_F32, a), y = lk::desc_of(LK_F32, b);
  lk_tensor_desc out{};
  LK_EXPECT_OK(lk_broadcast_dims(nullptr, &x, &y, &out, LK_ERR));
  return lk::dims_of(out);
}

TEST(ShapeHelpers, BroadcastIsMultidirectional) {
  EXPECT_EQ(broadcast({2, 3}, {2, 3}), (Dims{2, 3}));
  EXPECT_EQ(broadcast({2, 3}, {}), (Dims{2, 3}));
  EXPECT_EQ(broadcast({3, 1}, {4}), (Dims{3, 4}));
  EXPECT_EQ(broadcast({1, 5, 1}, {7, 1, 2}), (Dims{7, 5, 2}));
  EXPECT_EQ(broadcast({0, 3}, {1, 3}), (Dims{0, 3}));
  EXPECT_EQ(broadcast({1}, {0}), (Dims{0}));
}

TEST(ShapeHelpers, BroadcastNamesWhatDoesNotFit) {
  const lk_tensor_desc a = lk::desc_of(LK_F32, {2, 3}), b = lk::desc_of(LK_F32, {2, 0});
  lk_tensor_desc out{};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_broadcast_dims(nullptr, &a, &b, &out, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("2x3:f32 and 2x0:f32: sizes 3 and 0 meet"));
}

TEST(ShapeHelpers, PadRankPutsOnesInFront) {
  const lk_tensor_desc desc = lk::desc_of(LK_I8, {5, 6});
  EXPECT_EQ(lk::dims_of(lk_shape_pad_rank(&desc, 4)), (Dims{1, 1, 5, 6}));
  EXPECT_EQ(lk::dims_of(lk_shape_pad_rank(&desc, 2)), (Dims{5, 6}));
  EXPECT_EQ(lk_shape_pad_rank(&desc, 4).dtype, uint32_t{LK_I8});
}

TEST(ShapeHelpers, ReadIntsTakesBothWidths) {
  int32_t narrow[] = {-1, 7};
  lk_tensor values{lk::desc_of(LK_I32, {2}), narrow};
  int64_t out[2];
  uint32_t count = 9;
  LK_ASSERT_OK(lk_read_ints(&values, "axes", out, 2, &count, LK_ERR));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(out[0], -1);
  EXPECT_EQ(out[1], 7);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_read_ints(&values, "axes", out, 1, &count, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("axes: it has 2 values, at most 1"));
  values.data = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_read_ints(&values, "axes", out, 2, &count, LK_ERR));
  values.desc = lk::desc_of(LK_F32, {2});
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_read_ints(&values, "axes", out, 2, &count, LK_ERR));
  values.desc = lk::desc_of(LK_I64, {1, 2});
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_read_ints(&values, "axes", out, 2, &count, LK_ERR));
}

TEST(Shape, TellsDimensions) {
  OpTester("Shape", 13).input(iota<float>({2, 3, 4})).expect(ints({2, 3, 4})).run();
  OpTester("Shape", 13).input(iota<int8_t>({0, 3})).expect(ints({0, 3})).run();
  OpTester("Shape", 13).input(iota<float>({})).expect(ints({})).run();
}

TEST(Shape, StartAndEndAreHeldWithinTheRank) {
  const lk::Value x = iota<float>({2, 3, 4});
  OpTester("Shape", 15).attr("start", 1).input(x).expect(ints({3, 4})).run();
  OpTester("Shape", 15).attr("start", -1).input(x).expect(ints({4})).run();
  OpTester("Shape", 15).attr("end", -1).input(x).expect(ints({2, 3})).run();
  OpTester("Shape", 15).attr("start", -9).attr("end", 9).input(x).expect(ints({2, 3, 4})).run();
  OpTester("Shape", 15).attr("start", 2).attr("end", 1).input(x).expect(ints({})).run();
}

TEST(Shape, OfChannelsLastDataIsThatOfTheTensor) {
  OpTester("Shape", 13).channels_last(iota<float>({2, 3, 4, 5})).expect(ints({2, 3, 4, 5})).run();
}

TEST(Constant, HoldsEveryForm) {
  const lk::Value value = tensor<int32_t>({2, 2}, {1, -2, 3, 4});
  OpTester("Constant", 13).attr_tensor("value", value).expect(value).run();
  OpTester("Constant", 13).attr_float("value_float", 2.5f).expect(lk::floats({}, {2.5f})).run();
  OpTester("Constant", 13)
      .attr_floats("value_floats", {1, 2})
      .expect(lk::floats({2}, {1, 2}))
      .run();
  OpTester("Constant", 13).attr("value_int", -7).expect(tensor<int64_t>({}, {-7})).run();
  OpTester("Constant", 13).attr_ints("value_ints", {5, 6, 7}).expect(ints({5, 6, 7})).run();
}

TEST(Constant, FailsWithoutOrWithTwoValues) {
  OpTester("Constant", 13).expect_create(LK_INVALID_ARGUMENT, "value");
  OpTester("Constant", 13)
      .attr("value_int", 1)
      .attr_float("value_float", 1)
      .expect_create(LK_INVALID_ARGUMENT, "only one");
  OpTester("Constant", 13)
      .attr_tensor("value", iota<float>({1025}))
      .expect_create(LK_UNSUPPORTED, "4100 bytes");
}

TEST(Constant, HoldsAsMuchAsIsSaid) {
  const std::vector<float> floats(1024, 2);
  const std::vector<int64_t> integers(512, 3);
  OpTester("Constant", 13)
      .attr_floats("value_floats", floats)
      .expect(lk::floats({1024}, floats))
      .run();
  OpTester("Constant", 13).attr_ints("value_ints", integers).expect(ints(integers)).run();
  OpTester("Constant", 13)
      .attr_floats("value_floats", std::vector<float>(1025, 2))
      .expect_create(LK_OUT_OF_RANGE, "'value_floats' has 1025 values, at most 1024");
  OpTester("Constant", 13)
      .attr_ints("value_ints", std::vector<int64_t>(513, 3))
      .expect_create(LK_OUT_OF_RANGE, "'value_ints' has 513 values, at most 512");
}

TEST(ConstantOfShape, FillsWithZeroOrTheValue) {
  OpTester("ConstantOfShape", 9)
      .input(ints({2, 3}))
      .expect(lk::floats({2, 3}, {0, 0, 0, 0, 0, 0}))
      .run();
  OpTester("ConstantOfShape", 9)
      .attr_tensor("value", tensor<int64_t>({1}, {-5}))
      .input(ints({3}))
      .expect(ints({-5, -5, -5}))
      .run();
  OpTester("ConstantOfShape", 9)
      .attr_tensor("value", tensor<uint8_t>({1}, {1}, LK_BOOL))
      .input(ints({}))
      .expect(tensor<uint8_t>({}, {1}, LK_BOOL))
      .run();
  OpTester("ConstantOfShape", 9).input(ints({0, 2})).expect(lk::floats({0, 2}, {})).run();
}

TEST(ConstantOfShape, RefusesBadShapesAndValues) {
  OpTester("ConstantOfShape", 9).input(ints({2, -1})).expect_bind(LK_OUT_OF_RANGE, "-1");
  OpTester("ConstantOfShape", 9)
      .input(ints({INT64_MAX, INT64_MAX}))
      .expect_bind(LK_OUT_OF_RANGE, "2^47");
  OpTester("ConstantOfShape", 9)
      .attr_tensor("value", tensor<float>({2}, {1, 2}))
      .input(ints({1}))
      .expect_create(LK_INVALID_ARGUMENT, "one element");
}

} // namespace
