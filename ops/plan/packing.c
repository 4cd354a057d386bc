/* Constants in another layout of tensors, or of a wider type. */
#include "ops/plan/packing.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "ops/kernel/element/cast.h"
#include "ops/kernel/move/copy.h"
#include "ops/kernel/sizes.h"
#include "ops/plan/layout.h"

typedef struct relayout {
  lk_tensor_desc plain, packed;
} relayout;

static lk_status pack(const void *params, const void *plain, void *to, lk_error *error) {
  const relayout *self = params;
  return lk_copy_layout(&self->plain, plain, &self->packed, to, error);
}

static lk_status unpack(const void *params, const void *packed, void *plain, lk_error *error) {
  const relayout *self = params;
  return lk_copy_layout(&self->packed, packed, &self->plain, plain, error);
}

lk_status lk_pack_layout(lk_content *content, const lk_tensor_desc *from, const lk_tensor_desc *to,
                         lk_packed **out_packed, lk_error *error) {
  *out_packed = NULL;
  uint64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_layout_bytes(to, &bytes, error));
  const relayout params = {*from, *to};
  const lk_packer packer = {pack, unpack, &params, sizeof params};
  lk_weights_layout layout = {.numbers = {LK_PACKED_LAYOUT, from->layout, to->layout, from->dtype}};
  for (uint32_t i = 0; i < from->rank; i++) layout.numbers[4 + i] = from->dims[i];
  return lk_content_pack(content, &layout, bytes, &packer, out_packed, error);
}

/* ---- f16 and bf16 as f32 ---- */

enum { PART = 1024 };

/* By way of the stack: plain bytes lie at any address. */
static lk_status convert(uint32_t dtype, int64_t count, const void *plain, void *to,
                         lk_error *error) {
  uint16_t part[PART];
  lk_cast cast = {.from = dtype, .to = LK_F32, .count = PART};
  lk_cast_plan(&cast, lk_isa_get());
  for (int64_t i = 0; i < count; i += PART) {
    cast.count = lk_min(count - i, PART);
    void *const pointers[] = {part, (float *)to + i};
    memcpy(part, (const char *)plain + (size_t)i * sizeof *part, (size_t)cast.count * sizeof *part);
    LK_RETURN_NOT_OK(lk_cast_kernel(&cast, pointers, error));
  }
  return LK_OK;
}

static lk_status pack_wide(const void *params, const void *plain, void *to, lk_error *error) {
  const lk_widening *self = params;
  return convert(self->dtype, self->count, plain, to, error);
}

lk_status lk_pack_wide(lk_content *content, uint32_t dtype, int64_t count, lk_packed **out_packed,
                       lk_error *error) {
  const lk_widening params = {.dtype = dtype, .count = count};
  const lk_packer packer = {pack_wide, NULL, &params, sizeof params};
  const lk_weights_layout layout = {.numbers = {LK_PACKED_WIDE, dtype}};
  return lk_content_pack(content, &layout, (size_t)count * sizeof(float), &packer, out_packed,
                         error);
}

/* The params of a packer of f32, and before them what it takes to call it. */
typedef struct widened {
  lk_widening of;
  lk_status (*pack)(const void *params, const void *plain, void *to, lk_error *error);
  max_align_t params[];
} widened;

static lk_status pack_widened(const void *params, const void *plain, void *to, lk_error *error) {
  const widened *self = params;
  const size_t bytes = (size_t)self->of.count * sizeof(float);
  lk_status status = LK_OK;
  float *wide = lk_alloc_aligned(self->of.allocator, bytes, LK_DATA_ALIGNMENT);
  if (wide == NULL) return lk_fail_memory(error, "a constant as f32", bytes);
  LK_TRY(convert(self->of.dtype, self->of.count, plain, wide, error));
  LK_TRY(self->pack(self->params, wide, to, error));
cleanup:
  lk_free(self->of.allocator, wide);
  return status;
}

lk_status lk_pack_widened(lk_content *content, const lk_widening *of,
                          const lk_weights_layout *layout, size_t bytes, const lk_packer *packer,
                          lk_packed **out_packed, lk_error *error) {
  const size_t size = offsetof(widened, params) + packer->params_size;
  lk_weights_layout wide = *layout;
  *out_packed = NULL;
  widened *params = lk_alloc(of->allocator, size);
  if (params == NULL) return lk_fail_memory(error, "a constant as f32", size);
  params->of = *of;
  params->pack = packer->pack;
  memcpy(params->params, packer->params, packer->params_size);
  wide.numbers[LK_WEIGHTS_LAYOUT_NUMBERS - 1] = of->dtype;
  const lk_packer outer = {pack_widened, NULL, params, size};
  const lk_status status = lk_content_pack(content, &wide, bytes, &outer, out_packed, error);
  lk_free(of->allocator, params);
  return status;
}
