/* Interpolation, by tables that are made beforehand (resize_taps.h). */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/resize_taps.h"

/* Linear or cubic along one dimension: [outer, in, inner] to [outer, out, inner], of f32 or f64.
 * Behind the windows, `capacity` weights of that type for each output position. */
typedef struct lk_resize_pass {
  bool wide; /* f64, else f32 */
  int64_t outer, in, out, inner, capacity;
  lk_resize_window windows[];
} lk_resize_pass;

/* Params: lk_resize_pass. Pointers: from, to. */
lk_status lk_resize_pass_kernel(const void *params, void *const *pointers, lk_error *error);

/* Nearest along all dimensions at once, for elements of any type. The dimensions of the output are
 * in the order of memory, the last one is resized; the elements of a block lie together on both
 * sides. */
typedef struct lk_resize_gather {
  uint32_t rank;
  size_t block;               /* bytes */
  int64_t dims[LK_MAX_RANK];  /* of the output */
  int64_t steps[LK_MAX_RANK]; /* bytes between input neighbours */
  int64_t first[LK_MAX_RANK]; /* where the dimension's offsets begin; -1: it stays the same */
  int64_t offsets[];          /* bytes */
} lk_resize_gather;

/* Params: lk_resize_gather. Pointers: from, to. */
lk_status lk_resize_gather_kernel(const void *params, void *const *pointers, lk_error *error);

/* Writes the extrapolation value where any dimension is outside. */
typedef struct lk_resize_outside {
  uint32_t rank;
  size_t block; /* bytes of an element */
  uint8_t value[8];
  int64_t dims[LK_MAX_RANK];
  int64_t first[LK_MAX_RANK]; /* in `outside`; -1: nothing of this dimension is outside */
  bool outside[];
} lk_resize_outside;

/* Params: lk_resize_outside. Pointers: to. */
lk_status lk_resize_outside_kernel(const void *params, void *const *pointers, lk_error *error);
