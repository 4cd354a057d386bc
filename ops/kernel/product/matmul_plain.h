/* Matrix products of any rank of f64 and of integers of 32 and 64 bits, which wrap around. Both
 * operands are read where they lie; where many rows read a block of the right one, or it does not
 * lie in rows, it is copied to the stack first.
 *
 * Bound: as for lk_matmul_kernel.
 */
#pragma once

#include "ops/kernel/product/matmul.h"
#include "ops/kernel/product/product_loops.h"

typedef struct lk_matmul_plain {
  lk_plain_product_fn *run;
  lk_plain_product_fn *run_columns; /* of few columns; NULL: there are more */
  int64_t size;                     /* of an element, bytes */
  int64_t panel;                    /* columns of a tile */
  int64_t batches;
  lk_matmul of; /* sizes and strides alone; of its batches, as many as there are */
} lk_matmul_plain;

/* Whether it has loops for the type. */
bool lk_matmul_plain_takes(uint32_t dtype);
/* Of a type that it takes. */
void lk_matmul_plain_plan(const lk_matmul *of, uint32_t dtype, lk_isa isa, lk_matmul_plain *out);

/* Bytes of it that matter. */
static inline size_t lk_matmul_plain_size(const lk_matmul_plain *self) {
  return offsetof(lk_matmul_plain, of) + lk_matmul_size(&self->of);
}

/* Floating-point operations, or as many of integers. */
double lk_matmul_plain_operations(const lk_matmul_plain *self);

/* The kernel: `params` is an lk_matmul_plain, pointers are both operands and the output. */
lk_status lk_matmul_plain_kernel(const void *params, void *const *pointers, lk_error *error);
