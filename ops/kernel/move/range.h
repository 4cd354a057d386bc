/* Numbers at equal distances. */
#pragma once

#include "ops/kernel/kernel.h"

typedef struct lk_range {
  int64_t count;
  uint32_t dtype;        /* of the output: LK_I16, LK_I32, LK_I64, LK_F32 or LK_F64 */
  int64_t start, delta;  /* of integers, which wrap around */
  double first, between; /* of the others, which are rounded once from f64 */
} lk_range;

/* Params: lk_range. Pointers: to. */
lk_status lk_range_kernel(const void *params, void *const *pointers, lk_error *error);
