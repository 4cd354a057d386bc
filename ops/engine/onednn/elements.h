/* Element-wise works as oneDNN sees them: few dimensions, along some of which tensors repeat. */
#pragma once

#include "ops/engine/onednn/shapes.h"

/* The dimensions of dst in the order of its memory, without those of size 1, and each run of them
 * along which the same tensors repeat as one. */
typedef struct lk_elements {
  uint32_t dtype; /* of all of them */
  int rank;       /* from 1 */
  dnnl_dims_t dims;
  uint32_t
      repeats[LK_ROLES]; /* bit i: the tensor has one element along dimension i, dst has more */
  bool is_ordered;       /* src and operands lie in that order */
} lk_elements;

lk_elements lk_elements_of(const lk_work *work);
/* Of src, dst, or an operand. */
lk_strided lk_elements_strided(const lk_elements *of, uint32_t role);

/* Whether the tensor is one number, and whether it has one for each element along dimension 1. */
static inline bool lk_elements_is_number(const lk_elements *of, uint32_t role) {
  return of->repeats[role] == (1U << of->rank) - 1;
}
static inline bool lk_elements_has_channels(const lk_elements *of, uint32_t role) {
  return of->rank > 1 && of->repeats[role] == (((1U << of->rank) - 1) & ~2U);
}

/* Of PRelu, whether oneDNN has code for the way in which slopes repeat: along rows, or so that
 * there is one for each channel, which is dimension 1, or not at all, of whole vectors. */
bool lk_elements_has_slopes(const lk_elements *of, uint32_t role);
/* With a dimension of size 1 in front, if that makes the one along which slopes differ that of
 * channels. */
lk_elements lk_elements_of_slopes(const lk_elements *of, uint32_t role);

/* Of a work whose first function is of two tensors: whether they change places, since oneDNN
 * repeats the second one only. */
bool lk_elements_swaps(const lk_work *work, const lk_elements *of);
