/* Slices along an axis, picked by indices. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_gather {
  int64_t outer, axis, count; /* slices before the axis, the axis, indices */
  size_t block;               /* bytes behind the axis */
  bool wide;                  /* indices are i64, else i32 */
} lk_gather;

/* Params: lk_gather. Pointers: data, indices, to. A negative index counts from the end; one that is
 * out of range is LK_OUT_OF_RANGE. */
lk_status lk_gather_kernel(const void *params, void *const *pointers, lk_error *error);
