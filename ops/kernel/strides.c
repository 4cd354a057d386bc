/* Where the elements of a tensor lie, and how loops over several tensors become shorter. */
#include "ops/kernel/strides.h"

/* Dimensions from the innermost one. */
static void order_of(const lk_tensor_desc *desc, uint32_t order[LK_MAX_RANK]) {
  const uint32_t rank = desc->rank;
  uint32_t n = 0;
  if (desc->layout == LK_LAYOUT_CHANNELS_LAST && rank >= 3) {
    order[n++] = 1;
    for (uint32_t i = rank; i-- > 0;) {
      if (i != 1) order[n++] = i;
    }
    return;
  }
  for (uint32_t i = rank; i-- > 0;) order[n++] = i;
  if (desc->layout == LK_LAYOUT_HEADS_INSIDE && rank == 4) {
    order[1] = 1;
    order[2] = 2;
  }
}

void lk_strides(const lk_tensor_desc *desc, int64_t unit, int64_t strides[LK_MAX_RANK]) {
  uint32_t order[LK_MAX_RANK];
  int64_t stride = unit;
  order_of(desc, order);
  for (uint32_t n = 0; n < desc->rank; n++) {
    const uint32_t i = order[n];
    strides[i] = stride;
    stride *= desc->dims[i] > 0 ? desc->dims[i] : 1;
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
