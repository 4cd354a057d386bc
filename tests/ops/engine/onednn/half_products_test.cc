// What is expected of convolutions and products of bf16 and f16, on processors of both kinds.
#include "tests/harness/op_value.h"

extern "C" {
#include "ops/engine/onednn/half_products.h"
}

namespace {

double of(uint32_t kind, uint32_t dtype, int64_t rows, bool is_twice) {
  lk_work work = {};
  work.kind = kind;
  work.tensors[LK_ROLE_DST] = lk::desc_of(dtype, {1, rows, 64});
  return lk_onednn_of_half_product(&work, is_twice);
}

TEST(HalfProducts, OfBf16TakeLessWhereItsRateIsTwice) {
  for (const int64_t rows : {1, 8, 512}) {
    EXPECT_LT(of(LK_WORK_PRODUCT, LK_BF16, rows, true), 0.75) << rows;
  }
  EXPECT_LT(of(LK_WORK_CONV, LK_BF16, 1, true), 0.75);
}

TEST(HalfProducts, ElsewhereFewRowsDo) {
  for (const uint32_t dtype : {LK_BF16, LK_F16}) {
    EXPECT_LT(of(LK_WORK_PRODUCT, dtype, 1, false), 0.75);
    EXPECT_LT(of(LK_WORK_PRODUCT, dtype, 4, false), 0.75);
    EXPECT_GT(of(LK_WORK_PRODUCT, dtype, 5, false), 1);
    EXPECT_GT(of(LK_WORK_CONV, dtype, 1, false), 1);
  }
}

TEST(HalfProducts, OfManyRowsOfF16AreNotKnown) {
  EXPECT_GT(of(LK_WORK_PRODUCT, LK_F16, 8, true), 1);
  EXPECT_GT(of(LK_WORK_CONV, LK_F16, 1, true), 1);
}

} // namespace
