/* The layouts that tensors have. */
#include "ops/plan/layout.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"

lk_status lk_layout_bytes(const lk_tensor_desc *desc, uint64_t *out_bytes, lk_error *error) {
  *out_bytes = 0;
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(desc, "a tensor", NULL, &bytes, error));
  if (desc->layout != LK_LAYOUT_PLAIN && desc->layout != LK_LAYOUT_CHANNELS_LAST) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to describe a tensor: layout %" PRIu32 ", which is neither plain nor "
                   "channels-last",
                   desc->layout);
  }
  if (desc->layout == LK_LAYOUT_CHANNELS_LAST && desc->rank < 3) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to describe a tensor: channels-last with rank %" PRIu32 ", at least 3",
                   desc->rank);
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
