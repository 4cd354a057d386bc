/* The largest or smallest elements along an axis, best first, and where they were. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"
#include "ops/kernel/reduce/along.h"

typedef struct lk_top_k {
  int64_t outer, count, inner; /* elements before, along and behind the axis */
  int64_t k;                   /* 1 to `count` */
  uint32_t dtype;
  bool smallest;
  /* by lk_top_k_plan */
  lk_along best; /* how the best one alone is found */
  lk_skip_worse_fn *skip_worse;
  lk_sort_few_fn *sort_few;
} lk_top_k;

/* Sets the last part from the others. */
void lk_top_k_plan(lk_top_k *self);

/* Params: lk_top_k, planned. Pointers: data, values, indices (int64_t). Of equal elements the first
 * ones are taken, and come first. NaN is larger than any number. */
lk_status lk_top_k_kernel(const void *params, void *const *pointers, lk_error *error);
