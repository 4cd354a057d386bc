/* Windows of images put back to where they came from, with what overlaps added up.
 *
 * Bound: bytes of the windows, read once. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/element/element_ops.h"
#include "ops/kernel/isa.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/move/combine.h"

typedef struct lk_col2im {
  int64_t planes; /* batches times channels */
  uint32_t rank;  /* spatial; 1 or more */
  uint32_t dtype;
  int64_t plane, taps; /* elements of an image and of a window */
  int64_t windows;     /* of an image */
  int64_t image[LK_MAX_RANK], block[LK_MAX_RANK], counts[LK_MAX_RANK];     /* counts: of windows */
  int64_t strides[LK_MAX_RANK], dilations[LK_MAX_RANK], pads[LK_MAX_RANK]; /* pads: before it */
  /* ---- by lk_col2im_plan ---- */
  size_t element;              /* bytes */
  bool has_pairs;              /* two elements of a window are added to the image at once */
  lk_combine_fn *add;          /* of the type */
  lk_element_fn *side_by_side; /* the same for rows without gaps; NULL: there is none */
} lk_col2im;

/* Sets the last part. */
void lk_col2im_plan(lk_col2im *self);

/* Params: lk_col2im. Pointers: windows [planes][taps][windows], images. */
lk_status lk_col2im_kernel(const void *params, void *const *pointers, lk_error *error);
