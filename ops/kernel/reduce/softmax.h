/* Softmax of f32, or of rows of f64, and its logarithm: e^x / sum(e^x) along one dimension, after
 * the largest x is subtracted. Bound: the powers of e, about half a nanosecond for 16 of them in
 * f32; beyond the caches, bytes. Infinity or NaN makes a row NaN. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/reduce/row_loops.h"

typedef struct lk_softmax {
  const lk_row_loops *loops;
  int64_t outer, n, inner; /* along the middle one */
  bool is_last;            /* of its tensor's dimensions; else rows have the bits of columns */
  bool is_log;
  bool is_f64; /* along the last dimension, of at most LK_SOFTMAX_WIDE elements */
} lk_softmax;

/* Params: lk_softmax. Pointers: from, to, which may be equal. */
lk_status lk_softmax_kernel(const void *params, void *const *pointers, lk_error *error);
