/* The rows of a convolution whose positions along a line of the kernel are one tap.
 *
 * Lines of the input are copied into a buffer, channels last and with the zeros of their padding.
 * So all rows of a line lie the same distance apart, at its ends as well, and the input may have
 * either layout. Lines stay there for the windows below, which share most of them.
 */
#pragma once

#include "ops/kernel/conv/conv_cursor.h"

enum {
  LK_CONV_PADDED_ELEMENTS = 12 << 10, /* of all lines of a window */
  LK_CONV_PADDED_WINDOW = 800         /* the most of one window */
};

/* What a line of the buffer has: pixels `begin` to `end` - 1 of a line of the input. */
typedef struct lk_conv_padded_line {
  int64_t number; /* of the line in all images; -1: nothing */
  int64_t begin, end;
} lk_conv_padded_line;

/* A source with a buffer. */
typedef struct lk_conv_padded {
  lk_conv_source rows; /* first */
  int64_t elements;    /* that a line of the buffer has room for */
  lk_conv_padded_line held[LK_MICRO_TAPS];
  float lines[LK_CONV_PADDED_ELEMENTS];
} lk_conv_padded;

/* The buffer of a source of a convolution that `pads`: it has nothing yet. */
void lk_conv_padded_clear(lk_conv_padded *self);

/* As `next` of a product's source. */
void lk_conv_padded_next(lk_conv_padded *self, int64_t left, lk_product_tiles *out_tiles);
