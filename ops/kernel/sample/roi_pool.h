/* The largest elements of regions of images, each cut into a few bins: MaxRoiPool.
 *
 * Bound: reads of the elements of all regions. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_roi_pool {
  bool is_wide; /* f64, else f32 */
  double scale; /* from coordinates to elements */
  int64_t batches, channels, regions;
  int64_t image[2], bins[2]; /* height, width */
} lk_roi_pool;

/* Params: lk_roi_pool. Pointers: images [batches][channels][height][width], regions [regions][5]
 * (batch, left, top, right, bottom), output [regions][channels][bins]. A bin without elements is 0.
 * LK_OUT_OF_RANGE: a batch that is not there, or a coordinate beyond 2^31. */
lk_status lk_roi_pool_kernel(const void *params, void *const *pointers, lk_error *error);
