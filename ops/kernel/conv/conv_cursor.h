/* Where a convolution is in its output, and what its window meets there: what those have in common
 * that say where the rows of a tile lie (conv_lines.h, conv_loose.h). */
#pragma once

#include "ops/kernel/conv/conv_params.h"

/* A pixel of the output, and where its window begins. */
typedef struct lk_conv_cursor {
  int64_t pixel[LK_CONV_DIMS], image;
  int64_t at[LK_CONV_DIMS]; /* in the input; in the padding where it is out of range */
  const float *from;        /* where that would be */
} lk_conv_cursor;

typedef struct lk_conv_source {
  lk_product_source source;
  const lk_conv *conv;
  const float *input; /* of a group: its first channel of the first pixel */
  lk_conv_cursor cursor;
} lk_conv_source;

/* What a row in the padding reads; no longer than a block of k. */
extern const float lk_conv_zeros[LK_PRODUCT_LONGEST_SUM];

/* From a pixel of the input to the next. */
static inline int64_t lk_conv_pixel_step(const lk_conv *conv) {
  return conv->shape.in_channels * conv->shape.groups;
}

/* To the pixel of the output that is row `row` of the product. */
void lk_conv_cursor_begin(lk_conv_source *self, int64_t row);
/* Within the line, or to the beginning of the next one. */
void lk_conv_cursor_advance(lk_conv_source *self, int64_t pixels);

typedef struct lk_conv_tap {
  int64_t number;
  int64_t at[LK_CONV_DIMS]; /* position in the kernel; 0 along merged ones */
  int64_t elements;         /* of the input, from the window's beginning, and the block of k */
} lk_conv_tap;

lk_conv_tap lk_conv_tap_find(const lk_conv *conv, int64_t number, int64_t k);
void lk_conv_tap_next(const lk_conv *conv, int64_t k, lk_conv_tap *tap);
