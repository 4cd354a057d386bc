/* Kernels whose outputs are as large as the elements say: they count first, and then write outputs
 * that are dense in their true dimensions, into memory for the most that there can be. Those
 * dimensions go where the last pointer shows. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

/* ---- elements that are not 0 ---- */

typedef struct lk_non_zero {
  uint32_t dtype, rank; /* a scalar: rank 1, and a dimension of 1 */
  int64_t dims[LK_MAX_RANK];
} lk_non_zero;

/* Params: lk_non_zero. Pointers: data, coordinates (int64_t [rank][count], up to all elements),
 * dimensions [2]. */
lk_status lk_non_zero_kernel(const void *params, void *const *pointers, lk_error *error);

/* ---- slices that a condition chooses ---- */

typedef struct lk_compress {
  uint32_t rank, axis;
  size_t block;   /* bytes behind the axis */
  int64_t length; /* of the condition; what lies behind it is not chosen */
  int64_t dims[LK_MAX_RANK];
} lk_compress;

/* Params: lk_compress. Pointers: data, condition (bytes), to (up to all of the data),
 * dimensions [rank]. */
lk_status lk_compress_kernel(const void *params, void *const *pointers, lk_error *error);

/* ---- boxes that do not overlap better ones ---- */

typedef struct lk_non_max {
  int64_t batches, classes, boxes;
  bool centered;                               /* boxes are centers and sizes, else two corners */
  bool has_most, has_overlap, has_least_score; /* whether there is a pointer to it */
} lk_non_max;

/* Params: lk_non_max. Pointers: boxes (float [batches][boxes][4]), scores (float
 * [batches][classes][boxes]), the most of a class (int64_t; without it none), the overlap that is
 * allowed (float; without it 0), the score that they must exceed (float), chosen (int64_t
 * [count][3]: batch, class, box; up to the least of `most` and boxes for each class of each batch),
 * scratch (int64_t [LK_NON_MAX_SCRATCH boxes]), dimensions [2]. */
enum { LK_NON_MAX_SCRATCH = 4 };
lk_status lk_non_max_kernel(const void *params, void *const *pointers, lk_error *error);
