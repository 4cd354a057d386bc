/* Planes of bytes as pixels of four, one byte of each plane and zeros behind them.
 *
 * A convolution of few channels reads whole words of an image that lies so.
 *
 * Bound: bytes, each read and written once.
 */
#pragma once

#include "ops/kernel/kernel.h"

enum { LK_PIXEL_BYTES = 4 };

typedef struct lk_pixels {
  int64_t images, channels, pixels; /* 1 to LK_PIXEL_BYTES channels; pixels of a plane */
} lk_pixels;

/* Params: lk_pixels. Pointers: planes [images][channels][pixels]; to [images][pixels] words, which
 * are aligned as such. */
lk_status lk_pixels_kernel(const void *params, void *const *pointers, lk_error *error);
