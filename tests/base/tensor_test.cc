// Tensor descriptions: sizes with overflow checked, comparison, and text.
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/tensor.h"
}

namespace {

using ::testing::HasSubstr;

lk_tensor_desc desc_of(uint32_t dtype, const std::vector<int64_t> &dims) {
  return lk_tensor_desc_make(dtype, static_cast<uint32_t>(dims.size()), dims.data());
}

lk_status size_of(const lk_tensor_desc &desc, int64_t *elements, int64_t *bytes, lk_error *error) {
  return lk_tensor_size(&desc, "a tensor", elements, bytes, error);
}

TEST(Tensor, TypesHaveNamesThatAreParsed) {
#define LK_TEST_DTYPE(symbol, value, bytes, text)                                                  \
  EXPECT_EQ(lk_dtype_size(symbol), size_t{bytes});                                                 \
  EXPECT_STREQ(lk_dtype_name(symbol), text);                                                       \
  EXPECT_EQ(lk_dtype_parse(text, strlen(text)), uint32_t{symbol});
  LK_DTYPE_LIST(LK_TEST_DTYPE)
#undef LK_TEST_DTYPE
  EXPECT_EQ(lk_dtype_size(9999), 0u);
  EXPECT_STREQ(lk_dtype_name(9999), "?");
  EXPECT_EQ(lk_dtype_parse("f3", 2), uint32_t{LK_DTYPE_NONE});
}

TEST(Tensor, Sizes) {
  int64_t elements = 0, bytes = 0;
  LK_ASSERT_OK(size_of(desc_of(LK_F32, {2, 3, 4}), &elements, &bytes, LK_ERR));
  EXPECT_EQ(elements, 24);
  EXPECT_EQ(bytes, 96);
  LK_ASSERT_OK(size_of(desc_of(LK_I64, {}), &elements, &bytes, LK_ERR));
  EXPECT_EQ(elements, 1);
  EXPECT_EQ(bytes, 8);
  LK_ASSERT_OK(size_of(desc_of(LK_F32, {INT64_C(1) << 45}), &elements, &bytes, LK_ERR));
  EXPECT_EQ(bytes, LK_TENSOR_MAX_BYTES);
  LK_ASSERT_OK(size_of(desc_of(LK_F32, {INT64_C(1) << 45, 0, 1}), &elements, &bytes, LK_ERR));
  EXPECT_EQ(elements, 0);
  EXPECT_EQ(bytes, 0);
}

TEST(Tensor, SizesThatDoNotExistAreRefused) {
  for (const std::vector<int64_t> &dims :
       {std::vector<int64_t>{(INT64_C(1) << 45) + 1}, {INT64_C(1) << 61}, {INT64_MAX, INT64_MAX}}) {
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, size_of(desc_of(LK_F32, dims), nullptr, nullptr, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, ::testing::EndsWith("has more than 2^47 bytes"));
  }
  // The product of the others is a number that plans use, or none: 2^40 * 2^40.
  for (const std::vector<int64_t> &dims : {std::vector<int64_t>{0, INT64_MAX, INT64_MAX},
                                           {INT64_MAX, INT64_MAX, 0},
                                           {INT64_C(1) << 40, 0, INT64_C(1) << 40}}) {
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, size_of(desc_of(LK_F32, dims), nullptr, nullptr, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("has more than 2^47 bytes but for its dimensions of 0"));
  }
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, size_of(desc_of(LK_F32, {2, -1}), nullptr, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("dimension 1 is -1"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, size_of(desc_of(9999, {2}), nullptr, nullptr, LK_ERR));
  lk_tensor_desc desc = desc_of(LK_F32, {2});
  desc.rank = LK_MAX_RANK + 1;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, size_of(desc, nullptr, nullptr, LK_ERR));
}

TEST(Tensor, EqualIsTypeShapeAndLayout) {
  const lk_tensor_desc desc = desc_of(LK_F32, {2, 3});
  lk_tensor_desc others[] = {desc_of(LK_I32, {2, 3}), desc_of(LK_F32, {3, 2}),
                             desc_of(LK_F32, {2, 3, 1}), desc_of(LK_F32, {2}), desc};
  others[4].layout = 2;
  for (const lk_tensor_desc &other : others) {
    EXPECT_FALSE(lk_tensor_desc_same(&desc, &other));
  }
  EXPECT_FALSE(lk_shape_equal(&desc, &others[1]));
  EXPECT_TRUE(lk_shape_equal(&desc, &others[0]));
  lk_tensor_desc equal = desc;
  equal.dims[2] = 99; // behind its rank
  EXPECT_TRUE(lk_tensor_desc_same(&desc, &equal));
}

TEST(Tensor, Text) {
  char text[LK_TENSOR_TEXT_CAPACITY];
  lk_tensor_desc desc = desc_of(LK_F32, {1, 3, 48, 320});
  EXPECT_STREQ(lk_tensor_text(&desc, text), "1x3x48x320:f32");
  desc.layout = 2;
  EXPECT_STREQ(lk_tensor_text(&desc, text), "1x3x48x320:f32@2");
  desc = desc_of(LK_I64, {});
  EXPECT_STREQ(lk_tensor_text(&desc, text), "scalar:i64");
  desc = desc_of(9999, std::vector<int64_t>(LK_MAX_RANK, INT64_MIN));
  EXPECT_LT(strlen(lk_tensor_text(&desc, text)), sizeof text) << "the longest one fits";
}

} // namespace
