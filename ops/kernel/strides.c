/* Where the elements of a tensor lie, and how loops over several tensors become shorter. */
#include "ops/kernel/strides.h"

#include <stdbool.h>

void lk_strides(const lk_tensor_desc *desc, int64_t unit, int64_t strides[LK_MAX_RANK]) {
  const bool channels_last = desc->layout == LK_LAYOUT_CHANNELS_LAST && desc->rank >= 3;
  int64_t stride = unit;
  if (channels_last) {
    strides[1] = stride;
    stride *= desc->dims[1] > 0 ? desc->dims[1] : 1;
  }
  for (uint32_t i = desc->rank; i-- > 0;) {
    if (channels_last && i == 1) continue;
    strides[i] = stride;
    stride *= desc->dims[i] > 0 ? desc->dims[i] : 1;
  }
  if (desc->layout == LK_LAYOUT_HEADS_INSIDE && desc->rank == 4) {
    strides[1] = strides[2]; /* heads take the place of rows, which lie around them */
    strides[2] *= desc->dims[1] > 0 ? desc->dims[1] : 1;
  }
}

uint32_t lk_merge_dims(uint32_t rank, int64_t *dims, int64_t *a, int64_t *b) {
  uint32_t merged = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] == 1) continue;
    uint32_t last = merged - 1;
    if (merged > 0 && a[last] == a[i] * dims[i] && b[last] == b[i] * dims[i]) {
      dims[last] *= dims[i];
    } else {
      last = merged++;
      dims[last] = dims[i];
    }
    a[last] = a[i];
    b[last] = b[i];
  }
  return merged;
}
