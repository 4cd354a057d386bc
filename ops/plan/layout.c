/* The layouts that tensors have. */
#include "ops/plan/layout.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"

bool lk_layout_fits(const lk_tensor_desc *desc) {
  return desc->layout == LK_LAYOUT_PLAIN ||
         (desc->layout == LK_LAYOUT_CHANNELS_LAST && desc->rank >= 3) ||
         (desc->layout == LK_LAYOUT_HEADS_INSIDE && desc->rank == 4);
}

lk_status lk_layout_bytes(const lk_tensor_desc *desc, uint64_t *out_bytes, lk_error *error) {
  *out_bytes = 0;
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(desc, "a tensor", NULL, &bytes, error));
  if (!lk_layout_fits(desc)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to describe a tensor: it has layout %" PRIu32 " and rank %" PRIu32
                   "; 0 (plain), 1 (channels-last) with a rank of at least 3, or 2 (heads inside) "
                   "with rank 4, is allowed",
                   desc->layout, desc->rank);
  }
  *out_bytes = (uint64_t)bytes;
  return LK_OK;
}

bool lk_layout_same_bytes(const lk_tensor_desc *desc, lk_layout a, lk_layout b) {
  if (a == b || desc->rank < 3) return true;
  if (a == LK_LAYOUT_HEADS_INSIDE || b == LK_LAYOUT_HEADS_INSIDE) {
    if (desc->rank != 4) return false; /* no other tensor can lie so */
    /* dimension 1 stands at another place among those behind it */
    const bool other_is_last = a == LK_LAYOUT_CHANNELS_LAST || b == LK_LAYOUT_CHANNELS_LAST;
    return desc->dims[1] == 1 || desc->dims[other_is_last ? 3 : 2] == 1;
  }
  if (desc->dims[1] == 1) return true;
  for (uint32_t i = 2; i < desc->rank; i++) {
    if (desc->dims[i] != 1) return false;
  }
  return true;
}
