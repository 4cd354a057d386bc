/* The rows of a tile along a line of the output, so that they lie the same distance apart in the
 * input.
 *
 * Where windows lie in the input along the line, several tiles follow each other, and where such a
 * line is one tile, those of the lines behind it do. At its ends, a tap has some rows of the tile
 * in the padding: with many channels, these are left out (a part of the product, product.h), else
 * they read zeros.
 */
#pragma once

#include "ops/kernel/conv/conv_cursor.h"

/* Sets how `inout_conv`, whose product is planned, uses lines, if at all. */
void lk_conv_lines_plan(lk_conv *inout_conv);

/* As `next` of a product's source. */
void lk_conv_lines_next(lk_conv_source *self, int64_t left, int64_t tap, int64_t tap_end, int64_t k,
                        lk_product_tiles *out_tiles);
