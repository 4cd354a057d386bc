/* Images at places between their elements: GridSample.
 *
 * A place is a list of coordinates, which come last dimension first, from -1 to 1 over an image.
 * Each output element is a sum of products over the neighbours of its place: 1, 2 or 4 along each
 * dimension.
 *
 * Bound: reads of neighbours, which lie where the grid says. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

enum { LK_SAMPLE_RANK = 3 };

typedef enum lk_sample_mode { LK_SAMPLE_LINEAR, LK_SAMPLE_NEAREST, LK_SAMPLE_CUBIC } lk_sample_mode;

/* What lies outside an image: zeros, the nearest element of its border, or its mirror image. */
typedef enum lk_sample_padding {
  LK_SAMPLE_ZEROS,
  LK_SAMPLE_BORDER,
  LK_SAMPLE_REFLECTION
} lk_sample_padding;

typedef struct lk_grid_sample {
  uint32_t mode, padding; /* lk_sample_mode, lk_sample_padding */
  uint32_t rank;          /* spatial: 1 to LK_SAMPLE_RANK */
  bool align_corners;     /* -1 and 1 are the centers of the elements at the ends, not their ends */
  bool is_wide;           /* images are f64, else f32 */
  bool grid_is_wide;      /* and so is the grid */
  int64_t batches, channels;
  int64_t places; /* of an image */
  int64_t dims[LK_SAMPLE_RANK];
} lk_grid_sample;

/* Params: lk_grid_sample. Pointers: images [batches][channels][dims], grid
 * [batches][places][rank], output [batches][channels][places]. */
lk_status lk_grid_sample_kernel(const void *params, void *const *pointers, lk_error *error);
