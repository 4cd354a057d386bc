/* Matrix products of any rank: batches of [rows][k] by [k][columns], with any strides, so that
 * transposed operands and slices of larger tensors are read where they lie.
 *
 * The right operand is packed in panels (product.h): once, where it is constant; else at the
 * beginning of each run, into scratch memory, but for what few rows can read as it lies. Where that
 * is transposed, its columns are multiplied one by one, and by one column the rows are. Many small
 * products of one row each are sums of rows of the right operand.
 *
 * Bound: 2 * batches * rows * columns * k operations, or the bytes of the right operand where there
 * are few rows.
 */
#pragma once

#include <latchkey/base.h>
#include <stddef.h>

#include "ops/kernel/matmul_batch.h"
#include "ops/kernel/product/product.h"

/* Strides are in elements; 0 repeats the operand along a dimension. The columns of the output lie
 * side by side. */
typedef struct lk_matmul {
  lk_isa isa;
  int64_t rows, columns, k;
  int64_t a_row, a_k, b_k, b_column, c_row;
  int64_t a_first, b_first; /* where the operands begin; a packed one, at 0 */
  uint32_t batch_rank;
  bool b_is_packed; /* one matrix for all batches, by lk_matmul_pack */
  bool b_is_bits;   /* the same, an lk_bits_panels; with b_is_packed */
  bool has_bias, has_residual;
  bool has_chain; /* an lk_product_chain lies behind what matters of this struct */
  /* With b_is_bits, one batch and an a_k of 1: what the left operand takes as bytes
   * (lk_bits_left_size), which it is made; 0: it is not. */
  int64_t left_bytes;
  float low, high; /* the output is clipped; -INFINITY, INFINITY: it is not */
  /* ---- by lk_matmul_plan ---- */
  lk_product product;
  int64_t batches, b_matrices; /* of the right operand, those that differ */
  int64_t first_packed;        /* panels before it are read as they lie */
  bool has_dots;  /* elements are products of rows and columns, which lie side by side in memory */
  bool has_lines; /* the same, of a right operand of one column, by which rows are multiplied */
  bool has_sums;  /* elements are sums of a few rows of the right operand, and nothing follows */
  bool sums_bits; /* of b_is_bits: rows are multiplied by numbers that are never unpacked */
  /* ---- the last member: only `batch_rank` of them matter ---- */
  lk_matmul_batch batch[LK_MAX_RANK];
} lk_matmul;

/* Sets the part that says so from the others. */
void lk_matmul_plan(lk_matmul *self);

/* Bytes of it that matter. */
static inline size_t lk_matmul_size(const lk_matmul *self) {
  return offsetof(lk_matmul, batch) + self->batch_rank * sizeof self->batch[0];
}

/* Elements of the packed right operand. */
int64_t lk_matmul_packed_size(const lk_matmul *self);
/* `b` is the one matrix, by b_k and b_column, at any address. By all threads of the region where it
 * is large. */
void lk_matmul_pack(const lk_matmul *self, const float *b, float *packed);
/* The other way round, by this thread. */
void lk_matmul_unpack(const lk_matmul *self, const float *packed, float *b);

/* Elements of scratch memory that a run needs; 0 where the right operand is packed. */
int64_t lk_matmul_scratch_size(const lk_matmul *self);

/* The kernel: `params` is an lk_matmul, pointers are both operands and the output; then, each where
 * there is one, bias [columns], residual (which lies as the output does; may be the output),
 * scratch memory, and the chain's operands, for which the output is [batch...][rows][columns]. */
lk_status lk_matmul_kernel(const void *params, void *const *pointers, lk_error *error);
