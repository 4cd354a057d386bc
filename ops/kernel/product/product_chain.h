/* What follows the sums of a product or convolution: an element program that turns a tile of the
 * output C, its input 0, into what is left there, while it is in the cache. */
#pragma once

#include <stddef.h>

#include "ops/kernel/element/element.h"

enum { LK_PRODUCT_CHAIN_OPERANDS = 8 };

typedef struct lk_product_chain {
  uint32_t n_operands; /* inputs of the program behind the tile: f32 */
  /* In elements; along columns 1 or 0. One number for all: both are 0. */
  int32_t row_step[LK_PRODUCT_CHAIN_OPERANDS];
  uint8_t column_step[LK_PRODUCT_CHAIN_OPERANDS];
  lk_element program; /* the last member: what lies behind its `size` may be left out */
} lk_product_chain;

/* Plans it on tiles of any size: from a program with `n_operands` inputs behind the tile, and their
 * steps. */
lk_status lk_product_chain_plan(const lk_element_program *program, lk_product_chain *inout_chain,
                                lk_error *error);
/* Bytes of it that matter. */
size_t lk_product_chain_size(const lk_product_chain *self);

/* Its operands, for the first row and column of C. */
typedef struct lk_product_chain_operands {
  const float *at[LK_PRODUCT_CHAIN_OPERANDS];
} lk_product_chain_operands;

/* Where they are for row `row` and column `column` of a larger C. */
lk_product_chain_operands lk_product_chain_at(const lk_product_chain *self, void *const *pointers,
                                              int64_t row, int64_t column);

/* Rows and columns of C that were just written. */
typedef struct lk_product_chain_tile {
  float *c;                    /* the first */
  int64_t c_step;              /* from row to row */
  int64_t row, row_step, rows; /* in the C that operands begin with: `row_step` apart */
  int64_t column, columns;
} lk_product_chain_tile;

void lk_product_chain_apply(const lk_product_chain *self, const lk_product_chain_operands *operands,
                            const lk_product_chain_tile *tile);
