/* Elements that the kernel of a deformable convolution meets, as columns of a matrix: between
 * elements, where offsets say, times a mask. Outside of an image are zeros.
 *
 * Bound: bytes of the columns, written once. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_deform_columns {
  bool has_mask;
  int64_t batches, channels;
  int64_t groups; /* of channels that have offsets together */
  int64_t image[2], kernel[2], out[2];
  int64_t strides[2], dilations[2], pads[2]; /* pads: before the image */
} lk_deform_columns;

/* Params: lk_deform_columns. Pointers, of f32: images [batches][channels][image], offsets
 * [batches][groups][kernel][2][out], columns [batches][channels][kernel][out], and the mask
 * [batches][groups][kernel][out] where there is one. */
lk_status lk_deform_columns_kernel(const void *params, void *const *pointers, lk_error *error);
