/* Places of an image's elements, from -1 to 1 along each dimension, moved by affine maps.
 *
 * Bound: bytes of the places, written once. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_affine_grid {
  uint32_t rank;      /* spatial: 2 or 3 */
  bool align_corners; /* -1 and 1 are the centers of the elements at the ends, not their ends */
  bool is_wide;       /* f64, else f32 */
  int64_t batches;
  int64_t dims[3];
} lk_affine_grid;

/* Params: lk_affine_grid. Pointers: maps [batches][rank][rank + 1], places
 * [batches][dims][rank], whose coordinates come last dimension first. */
lk_status lk_affine_grid_kernel(const void *params, void *const *pointers, lk_error *error);
