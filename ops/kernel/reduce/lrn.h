/* Local response normalization of f32, across channels:
 *
 *   y[c] = x[c] / (bias + alpha / size * sum of the squares of x[c - (size - 1) / 2] to
 *                                                             x[c + size / 2]) ^ beta
 *
 * Bound: roots and divisions, beyond the caches bytes. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/reduce/row_loops.h"

typedef struct lk_lrn {
  lk_lrn_fn *rows, *columns;
  int64_t outer, inner; /* places before and behind the channels, as they lie */
  lk_lrn_window window;
} lk_lrn;

/* Sets everything. */
void lk_lrn_plan(int64_t outer, int64_t channels, int64_t inner, int64_t size, float alpha,
                 float beta, float bias, lk_isa isa, lk_lrn *out);

/* Params: lk_lrn. Pointers: from, to, which are not the same. */
lk_status lk_lrn_kernel(const void *params, void *const *pointers, lk_error *error);
