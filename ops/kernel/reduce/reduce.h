/* Reductions of any numbers over any dimensions: sums, means, norms, products, maxima. What a
 * further one does with each element is a few lines of reduce_loops.inc and reduce_plain.inc.
 *
 * Types that do not lie as an lk_element_class does are brought there in pieces. f16 and bf16 are
 * rounded once, at the end; integers wrap around.
 *
 * Bound: bytes. Largest error of a mean of f32: that of adding up some 64 numbers in f32, however
 * many there are, because longer sums are continued in f64. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/move/copy_plane.h"
#include "ops/kernel/reduce/row_loops.h"

/* A dimension: its size, and the distance between neighbours, in elements. */
typedef struct lk_reduce_dim {
  int64_t size, from, to; /* to: 0 where it is reduced */
} lk_reduce_dim;

/* What becomes of a total that has been divided. */
typedef enum lk_reduce_end { LK_REDUCE_AS_IT_IS, LK_REDUCE_ROOT, LK_REDUCE_LOG } lk_reduce_end;

typedef struct lk_reduction {
  lk_reduce_kind kind;
  lk_reduce_end end;
  double divisor; /* of totals; a whole number for integers, which are cut toward zero */
  /* F64, or I64 of an I32: what elements, of a type that is its class's own, are cast to first, and
   * results are of. LK_DTYPE_NONE: the type of the elements. */
  uint32_t as;
} lk_reduction;

typedef struct lk_reduce {
  const lk_reduce_loops *loops;
  lk_reduce_finish_fn *finish; /* NULL: results are stored one by one */
  lk_element_fn *load;         /* memory to its class; NULL: the loops take it as it lies */
  int64_t wide;                /* bytes of an element in the loops */
  lk_reduce_narrow_fn *narrow; /* with the next: totals to elements, of f16 and bf16 alone */
  lk_element_fn *put;
  lk_element_fn *end;          /* of totals as f64; NULL: they end as they are */
  lk_copy_plane_fn *transpose; /* rows are so short that many are columns; NULL: they are not */
  int64_t size;                /* bytes of an element in memory */
  uint32_t dtype;              /* of results */
  lk_reduction reduction;
  double factor;              /* 1 / divisor */
  uint32_t n_kept, n_reduced; /* dimensions; those that are kept come first */
  bool is_row;                /* the last reduced dimension lies side by side, else the last kept */
  int64_t turns, work;
  int64_t block, blocks;           /* of columns */
  lk_reduce_dim dims[LK_MAX_RANK]; /* behind the last one, it may be left out */
} lk_reduce;

/* `from`: a plain or channels-last tensor. Bit d of `mask`: dimension d is reduced; there is one at
 * least. `to`: strides of the result, in elements, by the dimensions of `from`. */
void lk_reduce_plan(const lk_tensor_desc *from, uint32_t mask, const int64_t *to,
                    const lk_reduction *reduction, lk_isa isa, lk_reduce *out);
/* What a reduction of no elements is, as an element of `dtype` in `out` (of 8 bytes). */
void lk_reduce_of_nothing(const lk_reduction *reduction, uint32_t dtype, void *out);

/* Params: lk_reduce. Pointers: from, to. */
lk_status lk_reduce_kernel(const void *params, void *const *pointers, lk_error *error);
