/* Where in its input a convolution finds the rows of a tile. */
#pragma once

#include "ops/kernel/conv_params.h"

/* Of a tap along a whole line of the kernel, copies of the rows that reach into the padding. */
enum { LK_CONV_EDGE_ELEMENTS = 288 * LK_MICRO_ROWS };

/* A pixel of the output, and where its window begins. */
typedef struct lk_conv_cursor {
  int64_t pixel[LK_CONV_DIMS], image;
  int64_t at[LK_CONV_DIMS]; /* in the input; in the padding where it is out of range */
  const float *from;        /* where that would be */
  bool line_is_inside;      /* windows of this line reach into the padding at its ends at most */
} lk_conv_cursor;

typedef struct lk_conv_source {
  lk_product_source source;
  const lk_conv *conv;
  const float *input; /* of a group: its first channel of the first pixel */
  lk_conv_cursor cursor;
  float edge[LK_CONV_EDGE_ELEMENTS];
} lk_conv_source;

void lk_conv_source_init(lk_conv_source *self, const lk_conv *conv, const float *input);
/* Its `next` where the rows are pixels of the output, for sources that are more than that. */
void lk_conv_source_next(lk_conv_source *self, int64_t left, int64_t tap, int64_t tap_end,
                         int64_t k, lk_product_tiles *out_tiles);
