// Scales and shifts of f16 and bf16 as f32, as the engine of oneDNN makes them for norms.
#include <cstring>

#include "tests/harness/op_value.h"

extern "C" {
#include "ops/engine/onednn/widened.h"
#include "ops/kernel/number.h"
}

namespace {

TEST(Widened, AreAllNumbersOfAHalfType) {
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); i++) all[i] = uint16_t(i);
  for (const uint32_t dtype : {LK_F16, LK_BF16}) {
    std::vector<float> made(all.size());
    lk_widen(dtype, all.data(), made.data(), all.size());
    for (size_t i = 0; i < all.size(); i++) {
      const double right = dtype == LK_F16 ? lk_f16_to_f64(all[i]) : lk_bf16_to_f64(all[i]);
      ASSERT_TRUE(std::isnan(right)
                      ? std::isnan(made[i])
                      : right == double(made[i]) && std::signbit(right) == std::signbit(made[i]))
          << all[i] << " of type " << dtype << " is " << made[i];
    }
  }
}

lk_work norm_of(uint32_t kind, uint32_t scale, uint32_t shift, int64_t channels) {
  lk_work made = {};
  made.kind = kind;
  made.roles = 1U << LK_ROLE_SRC | 1U << LK_ROLE_DST | 1U << LK_ROLE_SCALE | 1U << LK_ROLE_SHIFT;
  made.tensors[LK_ROLE_SRC] = made.tensors[LK_ROLE_DST] = lk::desc_of(LK_BF16, {2, channels, 3});
  made.tensors[LK_ROLE_SCALE] = lk::desc_of(scale, {channels});
  made.tensors[LK_ROLE_SHIFT] = lk::desc_of(shift, {channels});
  return made;
}

TEST(Widened, AreThoseOfHalfTypesBesideNorms) {
  for (const uint32_t kind : {LK_WORK_LAYER_NORM, LK_WORK_GROUP_NORM, LK_WORK_SOFTMAX}) {
    for (const uint32_t scale : {LK_F32, LK_BF16}) {
      for (const uint32_t shift : {LK_F32, LK_F16}) {
        const lk_work work = norm_of(kind, scale, shift, 5);
        const lk_widened made = lk_widened_of(&work);
        const bool is_norm = kind != LK_WORK_SOFTMAX;
        EXPECT_EQ(made.roles, (is_norm && scale != LK_F32 ? 1U << LK_ROLE_SCALE : 0) |
                                  (is_norm && shift != LK_F32 ? 1U << LK_ROLE_SHIFT : 0));
        EXPECT_EQ(made.bytes, uint64_t(__builtin_popcount(made.roles)) * 64);
      }
    }
  }
}

TEST(Widened, AreMeansAndVariancesOfBatchNormsToo) {
  for (const uint32_t kind : {LK_WORK_BATCH_NORM, LK_WORK_LAYER_NORM}) {
    lk_work work = norm_of(kind, LK_BF16, LK_BF16, 20);
    work.roles |= 1U << LK_ROLE_MEAN | 1U << LK_ROLE_VARIANCE;
    work.tensors[LK_ROLE_MEAN] = work.tensors[LK_ROLE_VARIANCE] = lk::desc_of(LK_BF16, {20});
    const lk_widened made = lk_widened_of(&work);
    const uint32_t given = kind == LK_WORK_BATCH_NORM ? 2 : 0;
    ASSERT_EQ(made.n_tensors, 2 + given);
    EXPECT_EQ(made.bytes, (2 + given) * 128);
    for (uint32_t i = 0; i < made.n_tensors; i++) {
      EXPECT_EQ(lk_widened_offset(&made, made.tensors[i].role), i * 128);
    }
  }
}

TEST(Widened, LieApartInScratchMemory) {
  const lk_work work = norm_of(LK_WORK_LAYER_NORM, LK_BF16, LK_F16, 17);
  const lk_widened made = lk_widened_of(&work);
  std::vector<uint16_t> scale(17, 0x3f80), shift(17, 0x4000); // 1, and 2
  lk::Memory scratch(made.bytes);
  void *pointers[] = {nullptr, nullptr, scale.data(), shift.data()};
  lk_widened_make(&made, pointers, scratch.data());
  const auto at = [&](uint32_t role) {
    const uint64_t offset = lk_widened_offset(&made, role);
    EXPECT_EQ(offset % 64, 0u);
    return reinterpret_cast<const float *>(static_cast<const char *>(scratch.data()) + offset);
  };
  for (int i = 0; i < 17; i++) {
    EXPECT_EQ(at(LK_ROLE_SCALE)[i], 1);
    EXPECT_EQ(at(LK_ROLE_SHIFT)[i], 2);
  }
}

} // namespace
