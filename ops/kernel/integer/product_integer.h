/* Products of matrices of bytes, and convolutions of them: exact sums of i32, which wrap around as
 * ONNX allows, scaled in f32 where the output is bytes or f32.
 *
 *   C[r][n] = end(bias[r][n] + sum over k of (A[r][k] - a_zero[r]) (B[k][n] - b_zero[n]))
 *
 * The right operand is packed first (lk_integer_pack_kernel), once where it is constant; rows of
 * the left one are brought to the form of the tiles (integer_loops.h) a block at a time, of a
 * convolution window by window, where padding is the zero point.
 *
 * Bound: 2 * batches * rows * columns * k operations.
 */
#pragma once

#include "ops/kernel/conv_shape.h"
#include "ops/kernel/integer/integer_loops.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/matmul_batch.h"

/* The order of the pointers; those of which `has` lacks the bit are left out. */
typedef enum lk_integer_role {
  LK_INTEGER_A,
  LK_INTEGER_B, /* packed */
  LK_INTEGER_C,
  LK_INTEGER_SCRATCH,
  LK_INTEGER_A_ZERO,
  LK_INTEGER_B_ZERO,
  LK_INTEGER_SCALE, /* f32 */
  LK_INTEGER_BIAS,  /* i32 */
  LK_INTEGER_C_ZERO,
  LK_INTEGER_ROLES
} lk_integer_role;

/* Of a run. */
typedef struct lk_integer_operands {
  void *of[LK_INTEGER_ROLES]; /* NULL: not there */
} lk_integer_operands;

lk_integer_operands lk_integer_operands_of(uint32_t has, void *const *pointers);
/* The zero point of the output, or 0. */
int32_t lk_integer_zero_of_c(uint8_t c_dtype, const lk_integer_operands *of);
/* The lines of a channels-last image that the windows of a line of the output have their taps in,
 * one for each line of the kernel; `outside` where there is none. */
void lk_integer_find_lines(const lk_conv_shape *conv, const uint8_t *image, int64_t depth,
                           int64_t height, const uint8_t *outside, const uint8_t **lines);

/* Steps are in elements, 0 or 1 but where it says otherwise. */
typedef struct lk_product_integer {
  const lk_integer_loops *loops;
  uint32_t has; /* a bit for each lk_integer_role */
  bool a_is_signed, b_is_signed;
  uint8_t c_dtype;          /* LK_I32, LK_F32, LK_U8, LK_I8 */
  int64_t rows, columns, k; /* of each batch: of a convolution, its groups */
  int64_t a_row, a_k;       /* any steps; `batch` has A's in rows, and B's in matrices */
  /* as lk_integer_right */
  int64_t b_inner, b_step, b_outer, b_column, b_group_k, b_group_columns;
  int64_t b_matrices, b_matrix; /* how many, and any step between them */
  int64_t a_zero_step;
  int64_t b_zero_step, scale_step, bias_column;
  int64_t b_zero_matrix, scale_matrix, bias_matrix; /* any steps */
  int64_t bias_row;                                 /* any step */
  int64_t c_row, c_batch;                           /* any steps */
  bool is_conv;                                     /* A is channels-last, of this shape */
  lk_conv_shape conv;
  /* ---- by lk_product_integer_plan ---- */
  int64_t batches, groups, a_step, block_rows, blocks, panel, panels, chunks, slots, b_size;
  /* ---- the last member: only `batch_rank` of them matter ---- */
  uint32_t batch_rank;
  lk_matmul_batch batch[LK_MAX_RANK];
} lk_product_integer;

/* Sets the part that says so from the others. */
void lk_product_integer_plan(lk_product_integer *self);
/* Of all matrices of B, packed: numbers of i32. */
int64_t lk_product_integer_packed_size(const lk_product_integer *self);
int64_t lk_product_integer_scratch_size(const lk_product_integer *self);
/* Where a packed matrix of B has the sums of its columns. */
const int32_t *lk_product_integer_sums(const lk_product_integer *self, const int32_t *matrix);
double lk_product_integer_operations(const lk_product_integer *self);

/* Params: lk_product_integer. */
lk_status lk_product_integer_kernel(const void *params, void *const *pointers, lk_error *error);
/* The same params; pointers: B as it lies, B packed. */
lk_status lk_product_integer_pack_kernel(const void *params, void *const *pointers,
                                         lk_error *error);
