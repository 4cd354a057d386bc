/* Norms of f32: each row less its mean, divided by its standard deviation, scaled and shifted.
 *
 * Bound: bytes, read up to three times from the cache. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/reduce/row_loops.h"

typedef struct lk_norm {
  lk_norm_row_fn *row;
  int64_t rows, n;  /* of elements that lie side by side */
  int64_t inner;    /* elements in a row that share a scale and a bias; 1: each has its own */
  int64_t period;   /* after so many rows scales and biases begin again; each has n / inner */
  double epsilon;   /* added to the variance */
  bool is_centered; /* false: the mean counts as 0 */
  bool has_scale, has_bias, has_mean, has_deviation;
} lk_norm;

/* Params: lk_norm. Pointers: from, to; then, each if it is there: scale, bias, the mean of each
 * row, and 1 over the standard deviation of each. */
lk_status lk_norm_kernel(const void *params, void *const *pointers, lk_error *error);
