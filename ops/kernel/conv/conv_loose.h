/* The rows of a tile one by one, across the ends of lines: for images so narrow that lines would
 * fill few rows of a tile. */
#pragma once

#include "ops/kernel/conv/conv_cursor.h"

/* As `next` of a product's source. */
void lk_conv_loose_next(lk_conv_source *self, int64_t left, int64_t tap, int64_t tap_end, int64_t k,
                        lk_product_tiles *out_tiles);
