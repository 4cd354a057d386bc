/* Matrices of few bits (block_bits.h) as right operands of products, whose columns are their rows:
 * in panels, and of few bits still, so that a run reads no more memory than it must.
 *
 * A product gets them as f32, a block at a time, or for few rows one by one, without a place in
 * memory; or as they are, by rows that are made bytes: that is what models ask for that say int8 is
 * accurate enough, and sooner for few rows.
 *
 * Bound: bytes of the panels for few rows. */
#pragma once

#include <stddef.h>

#include "ops/kernel/integer/block_bits.h"
#include "ops/kernel/integer/integer_loops.h"

/* The panels lie behind it. */
typedef struct lk_bits_panels {
  lk_block_bits bits;
  int64_t panel, panels; /* columns of one, whole vectors; how many */
} lk_bits_panels;

size_t lk_bits_panels_size(const lk_bits_panels *self);
/* `to`, aligned: a copy of this, and the panels. */
void lk_bits_panels_pack(const lk_bits_panels *self, const lk_block_operands *from, void *to);
/* Elements `k` to k_end - 1 of a panel, as lk_product_maker has it; k is a multiple of 16. */
void lk_bits_panels_make(const lk_bits_panels *self, const lk_integer_loops *loops, int64_t panel,
                         int64_t k, int64_t k_end, float *to);

/* Columns of the product of `rows` rows of f32, `step` elements apart, by a panel: `to` is
 * [rows][panel]. */
void lk_bits_panels_sum(const lk_bits_panels *self, const lk_integer_loops *loops,
                        const float *from, int64_t step, int64_t rows, int64_t panel, float *to);

/* Bytes of a left operand, of `rows` rows of bytes in the order that the panels want; 0: the loops
 * cannot multiply them by so many bits. */
size_t lk_bits_left_size(const lk_block_bits *self, const lk_integer_loops *loops, int64_t rows);
/* Rows of f32, `step` elements apart, as bytes: to the nearest by the largest of each block. What
 * is not finite makes its row NaN. By all threads of the region where that is large. */
void lk_bits_left_make(const lk_block_bits *self, const lk_integer_loops *loops, const float *from,
                       int64_t step, int64_t rows, void *to);
/* Columns of the product of some rows by a panel: `to` is [rows][panel]. */
void lk_bits_panels_multiply(const lk_bits_panels *self, const lk_integer_loops *loops,
                             const void *left, int64_t first_row, int64_t rows, int64_t panel,
                             float *to);
