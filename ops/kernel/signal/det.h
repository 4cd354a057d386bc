/* Determinants of square matrices, by elimination with partial pivots.
 *
 * Bound: n^3 / 3 multiplications and additions of f64 for each matrix. */
#pragma once

#include "ops/kernel/kernel.h"

typedef struct lk_det {
  int64_t matrices, n;
} lk_det;

/* Params: lk_det. Pointers: matrices [n][n] of f64, which are overwritten, and determinants, of
 * f64. */
lk_status lk_det_kernel(const void *params, void *const *pointers, lk_error *error);
