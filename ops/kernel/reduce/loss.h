/* The negative log-likelihood loss: of each place, what the target's class has, times minus its
 * weight.
 *
 * Bound: a read from a cache line of its own for each place. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_nll {
  int64_t outer, classes, inner;
  int64_t ignored;    /* the class whose places count as nothing */
  bool has_ignored;   /* there is one; it need not be a class */
  bool is_f64;        /* losses and weights are f64, else f32 */
  bool wide;          /* targets are i64, else i32 */
  bool has_weights;   /* of each class */
  bool tells_weights; /* of each place */
} lk_nll;

/* Params: lk_nll. Pointers: logarithms [outer][classes][inner], targets [outer][inner], weights
 * [classes] where they are there, losses [outer][inner], and weights of places where they are
 * wanted. LK_OUT_OF_RANGE names a target that is no class; nothing is written then. */
lk_status lk_nll_kernel(const void *params, void *const *pointers, lk_error *error);
