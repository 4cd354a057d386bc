/* The layouts that tensors have. */
#include "ops/plan/layout.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"

bool lk_layout_fits(const lk_tensor_desc *desc) {
  return desc->layout == LK_LAYOUT_PLAIN ||
         (desc->layout == LK_LAYOUT_CHANNELS_LAST && desc->rank >= 3);
}

lk_status lk_layout_bytes(const lk_tensor_desc *desc, uint64_t *out_bytes, lk_error *error) {
  *out_bytes = 0;
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(desc, "a tensor", NULL, &bytes, error));
  if (!lk_layout_fits(desc)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to describe a tensor: layout %" PRIu32 " with rank %" PRIu32
                   ", 0 (plain), or 1 (channels-last) with a rank of at least 3",
                   desc->layout, desc->rank);
  }
  *out_bytes = (uint64_t)bytes;
  return LK_OK;
}

bool lk_layout_same_bytes(const lk_tensor_desc *desc, lk_layout a, lk_layout b) {
  if (a == b) return true;
  if (desc->rank < 3 || desc->dims[1] == 1) return true;
  for (uint32_t i = 2; i < desc->rank; i++) {
    if (desc->dims[i] != 1) return false;
  }
  return true;
}
