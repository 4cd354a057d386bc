/* Numbers at equal distances. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_range {
  int64_t count;
  bool is_float;         /* the output is f64, else i64 */
  int64_t start, delta;  /* of i64, which wraps around */
  double first, between; /* of f64 */
} lk_range;

/* Params: lk_range. Pointers: to. */
lk_status lk_range_kernel(const void *params, void *const *pointers, lk_error *error);
