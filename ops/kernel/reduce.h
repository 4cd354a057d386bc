/* Reductions of f32 over any dimensions: sums, means and maxima. What a further one does with each
 * element is a few lines of reduce_loops.inc.
 *
 * Bound: bytes. Largest error of a mean: that of adding up some 64 numbers in f32, however many
 * there are, because longer sums are continued in f64. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/row_loops.h"

/* A dimension: its size, and the distance between neighbours, in elements. */
typedef struct lk_reduce_dim {
  int64_t size, from, to; /* to: 0 where it is reduced */
} lk_reduce_dim;

typedef struct lk_reduce {
  const lk_reduce_loops *loops;
  lk_reduce_finish_fn *finish;
  double factor;              /* what totals are multiplied by */
  uint32_t n_kept, n_reduced; /* dimensions; those that are kept come first */
  bool is_row;                /* the last reduced dimension lies side by side, else the last kept */
  int64_t turns, work;
  int64_t block, blocks;           /* of columns */
  lk_reduce_dim dims[LK_MAX_RANK]; /* behind the last one, it may be left out */
} lk_reduce;

/* `from`: a plain or channels-last tensor. Bit d of `mask`: dimension d is reduced; there is one at
 * least. `to`: strides of the result, in elements, by the dimensions of `from`. */
void lk_reduce_plan(const lk_tensor_desc *from, uint32_t mask, const int64_t *to,
                    lk_reduce_kind kind, double factor, lk_isa isa, lk_reduce *out);

/* Params: lk_reduce. Pointers: from, to. */
lk_status lk_reduce_kernel(const void *params, void *const *pointers, lk_error *error);
