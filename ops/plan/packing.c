/* Constants in another layout of tensors. */
#include "ops/plan/packing.h"

#include "base/status.h"
#include "ops/kernel/copy.h"
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
  lk_weights_layout layout = {{LK_PACKED_LAYOUT, from->layout, to->layout, from->dtype}};
  for (uint32_t i = 0; i < from->rank; i++) layout.numbers[4 + i] = from->dims[i];
  return lk_content_pack(content, &layout, bytes, &packer, out_packed, error);
}
