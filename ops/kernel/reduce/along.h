/* Along one dimension of tensors of any numbers: where the largest element lies, and running sums
 * and products. The others lie around it: `outer` times `n` times `inner` elements, plain.
 *
 * NaN is larger, and smaller, than all. Running totals of f32, f16 and bf16 are kept in f64.
 * Bound: bytes; where `inner` is 1, running totals wait for one another. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/move/copy_plane.h"
#include "ops/kernel/reduce/row_loops.h"

typedef struct lk_along {
  uint32_t dtype;
  bool is_reversed; /* goes from the last element to the first one */
  bool is_smallest, is_one_hot;
  bool is_product, is_exclusive;
  int64_t outer, n, inner;
  /* ---- by lk_along_plan ---- */
  lk_largest_fn *largest;
  lk_running_fn *running;
  lk_element_fn *load, *store; /* between memory and its class; NULL: it lies as that does */
  lk_copy_plane_fn *transpose; /* rows are so short that many are columns; NULL: they are not */
} lk_along;

/* Sets the last part from the others. */
void lk_along_plan(lk_along *self, lk_isa isa);

/* Params: lk_along. Pointers: from, to. `to` has the numbers (i64) of the first of the largest
 * elements, or of the last where it is reversed. With `is_one_hot` it has 1 in that place and 0 in
 * others, of the type of `from`; that never goes with `is_reversed`. */
lk_status lk_largest_kernel(const void *params, void *const *pointers, lk_error *error);

/* Params: lk_along. Pointers: from, to, which may be equal. */
lk_status lk_running_kernel(const void *params, void *const *pointers, lk_error *error);
