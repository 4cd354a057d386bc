/* The number of the largest element in the input, from its position inside the kernel. */
#pragma once

#include "ops/kernel/reduce/pool.h"

typedef struct lk_pool_indices {
  lk_pool_geometry geometry;
  int64_t batch, channels;
  int64_t factors[LK_POOL_DIMS]; /* what a step in the input adds to the index */
  /* strides in elements: batch, channel, and three spatial dimensions */
  int64_t from[2 + LK_POOL_DIMS], to[2 + LK_POOL_DIMS];
} lk_pool_indices;

/* Params: lk_pool_indices. Pointers: positions (i32), indices (i64). */
lk_status lk_pool_indices_kernel(const void *params, void *const *pointers, lk_error *error);
