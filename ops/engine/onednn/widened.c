/* Scales and shifts of f16 and bf16 beside norms, means and variances. */
#include "ops/engine/onednn/widened.h"

#include <string.h>

enum { ALIGNMENT = 64 };

static bool is_widened(const lk_work *work, uint32_t role) {
  const uint32_t dtype = work->tensors[role].dtype;
  const bool is_batch_norm = work->kind == LK_WORK_BATCH_NORM;
  const bool is_norm =
      work->kind == LK_WORK_LAYER_NORM || work->kind == LK_WORK_GROUP_NORM || is_batch_norm;
  const bool is_scale = role == LK_ROLE_SCALE || role == LK_ROLE_SHIFT;
  const bool is_given = role == LK_ROLE_MEAN || role == LK_ROLE_VARIANCE;
  return ((is_norm && is_scale) || (is_batch_norm && is_given)) &&
         (dtype == LK_F16 || dtype == LK_BF16);
}

static void add(lk_widened *self, const lk_work *work, uint32_t role, uint32_t pointer) {
  const lk_tensor_desc *desc = &work->tensors[role];
  int64_t count = 1;
  for (uint32_t i = 0; i < desc->rank; i++) count *= desc->dims[i];
  self->tensors[self->n_tensors++] =
      (struct lk_widened_tensor){role, desc->dtype, pointer, count, self->bytes};
  self->roles |= 1U << role;
  self->bytes += ((uint64_t)count * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

lk_widened lk_widened_of(const lk_work *work) {
  lk_widened made = {0};
  uint32_t pointer = 0;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if ((work->roles >> role & 1) == 0) continue;
    if (is_widened(work, role)) add(&made, work, role, pointer);
    pointer++;
  }
  return made;
}

uint64_t lk_widened_offset(const lk_widened *self, uint32_t role) {
  uint32_t i = 0;
  while (self->tensors[i].role != role) i++;
  return self->tensors[i].offset;
}

/* ---- runs ---- */

static float from_bf16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* A denormal number is what it adds to 2^-14, whose last bit is that of the smallest one. */
static float from_f16(uint16_t bits) {
  const float least = 0x1p-14F;
  const uint32_t size = (uint32_t)(bits & 0x7fff) << 13, rebiased = 112U << 23;
  const uint32_t added = size + rebiased + (1U << 23); /* of a denormal number: 2^-14 and it */
  const bool is_denormal = size < 1U << 23, is_finite = size < 31U << 23;
  float value;
  memcpy(&value, &added, sizeof value);
  value -= least;
  uint32_t wide;
  memcpy(&wide, &value, sizeof wide);
  wide = is_denormal ? wide : is_finite ? size + rebiased : size + 2 * rebiased;
  wide |= (uint32_t)(bits & 0x8000) << 16;
  memcpy(&value, &wide, sizeof value);
  return value;
}

void lk_widen(uint32_t dtype, const uint16_t *from, float *to, size_t count) {
  if (dtype == LK_BF16) {
    for (size_t i = 0; i < count; i++) to[i] = from_bf16(from[i]);
  } else {
    for (size_t i = 0; i < count; i++) to[i] = from_f16(from[i]);
  }
}

void lk_widened_make(const lk_widened *self, void *const *pointers, void *scratch) {
  for (uint32_t i = 0; i < self->n_tensors; i++) {
    const struct lk_widened_tensor *of = &self->tensors[i];
    float *to = (float *)(void *)((unsigned char *)scratch + of->offset);
    lk_widen(of->dtype, pointers[of->pointer], to, (size_t)of->count);
  }
}
