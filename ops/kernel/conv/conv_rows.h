/* Where in its input a convolution finds the rows of a tile. */
#pragma once

#include "ops/kernel/conv/conv_padded.h"

void lk_conv_source_init(lk_conv_padded *self, const lk_conv *conv, const float *input);
/* Its `next` where the rows are pixels of the output, for sources that are more than that. */
void lk_conv_source_next(lk_conv_padded *self, int64_t left, int64_t tap, int64_t tap_end,
                         int64_t k, lk_product_tiles *out_tiles);
