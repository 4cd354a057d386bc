// Comparing with expected outputs: NaN, infinities, tolerances, integers, shapes.
extern "C" {
#include "executor_glue/cli/common/compare.h"
}

#include <limits>
#include <vector>

#include "tests/harness/lk_test.h"

namespace {

using ::testing::HasSubstr;

constexpr tolerance kDefault = {1e-3, 1e-7};

template <typename T> lk_tensor view(uint32_t dtype, std::vector<T> &data) {
  lk_tensor tensor = {};
  tensor.desc.dtype = dtype;
  tensor.desc.rank = 1;
  tensor.desc.dims[0] = static_cast<int64_t>(data.size());
  tensor.data = data.data();
  return tensor;
}

template <typename T>
lk_status compare(uint32_t dtype, std::vector<T> got, std::vector<T> expected,
                  tolerance within = kDefault) {
  lk_tensor a = view(dtype, got);
  lk_tensor b = view(dtype, expected);
  return compare_tensors(&a, &b, within, "y", LK_ERR);
}

TEST(Compare, FloatsWithinToleranceOfTheExpected) {
  LK_EXPECT_OK(compare<float>(LK_F32, {1.0009f, 0.0f}, {1.0f, 5e-8f}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<float>(LK_F32, {1.0f, 1.002f}, {1.0f, 1.0f}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'y': element 1 is"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("1 of 2 differ"));
  // Relative to what is expected, not to what came: 1000.5 is not within 1e-3 of 0.
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<float>(LK_F32, {1000.5f}, {0.0f}));
  LK_EXPECT_OK(compare<float>(LK_F32, {3.0f}, {1.0f}, {2.0, 0.0}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<float>(LK_F32, {1.0f}, {3.0f}, {0.5, 0.0}));
}

TEST(Compare, NanAndInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  LK_EXPECT_OK(compare<float>(LK_F32, {nan, inf, -inf}, {nan, inf, -inf}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<float>(LK_F32, {nan}, {1.0f}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<float>(LK_F32, {1.0f}, {nan}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<float>(LK_F32, {inf}, {-inf}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<float>(LK_F32, {1e30f}, {inf}));
}

TEST(Compare, SmallFloats) {
  // f16: 0x3c00 is 1, 0x3c01 is 1 + 2^-10, 0x0001 is 2^-24, 0x7e00 is NaN, 0xfc00 is -infinity.
  LK_EXPECT_OK(compare<uint16_t>(LK_F16, {0x3c01, 0x7e00, 0xfc00}, {0x3c00, 0x7e01, 0xfc00}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<uint16_t>(LK_F16, {0x3c02}, {0x3c00}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("1.00195312"));
  LK_EXPECT_OK(compare<uint16_t>(LK_F16, {0x0001}, {0x0000}));
  // bf16: 0x3f80 is 1, 0x3f81 is 1 + 2^-7.
  LK_EXPECT_OK(compare<uint16_t>(LK_BF16, {0x3f82}, {0x3f80}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<uint16_t>(LK_BF16, {0x3f83}, {0x3f80}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<uint16_t>(LK_BF16, {0x3f81}, {0x3f80}, {0.0, 0.0}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<uint16_t>(LK_F16, {0x0002}, {0x0000}));
}

TEST(Compare, IntegersAreEqualOrNot) {
  LK_EXPECT_OK(compare<int64_t>(LK_I64, {-5, INT64_MIN}, {-5, INT64_MIN}));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<int64_t>(LK_I64, {1000000}, {1000001}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("1000000, 1000001 expected"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<int8_t>(LK_I8, {-3}, {-4}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("-3, -4 expected"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare<uint8_t>(LK_U8, {255}, {254}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("255, 254 expected"));
}

TEST(Compare, TypesAndShapesMustBeEqual) {
  std::vector<float> data(6);
  lk_tensor a = view(LK_F32, data);
  lk_tensor b = a;
  b.desc.rank = 2;
  b.desc.dims[0] = 2;
  b.desc.dims[1] = 3;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare_tensors(&a, &b, kDefault, "y", LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("it is 6:f32, 2x3:f32 expected"));
  b = a;
  b.desc.dtype = LK_I32;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, compare_tensors(&a, &b, kDefault, "y", LK_ERR));
}

TEST(Compare, NothingIsEqualToNothing) {
  LK_EXPECT_OK(compare<float>(LK_F32, {}, {}));
}

} // namespace
