/* Means of integers, and roots of sums of their squares, whose totals need not fit in 64 bits. */
#pragma once

#include "ops/kernel/reduce/reduce.h"

typedef struct lk_reduce_whole {
  lk_reduce small;       /* all of it, where no total is too large for 64 bits */
  lk_reduce real, whole; /* totals in f64, and in 64 bits */
  lk_reduce_bits_fn *bits;
  uint64_t limit;         /* of a size, up to which none is */
  uint32_t dtype, wide;   /* of elements and results, of `whole` */
  int64_t count, results; /* elements, results */
} lk_reduce_whole;

/* Sets what follows from the three reductions, of `dtype`. `elements` is that of the elements that
 * totals are taken of. */
void lk_reduce_whole_plan(uint32_t dtype, uint32_t elements, int64_t count, int64_t results,
                          lk_isa isa, lk_reduce_whole *inout);

/* Params: lk_reduce_whole. Pointers: from, to, real totals, whole totals, and `from` again, of u32
 * as i64. A total is exact where it fits in 64 bits, else that of f64, of which the result is cut
 * toward zero and held within its type. */
lk_status lk_reduce_whole_kernel(const void *params, void *const *pointers, lk_error *error);
