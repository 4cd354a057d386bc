/* Slices of a tensor along an axis that differ from each other: which there are, where each comes
 * first, and how often. As with the kernels of selection.h, the elements say how large outputs are.
 *
 * Takes time in proportion to the elements that tell slices apart, whatever they are. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_unique {
  uint32_t dtype, rank, axis; /* of a flat tensor: rank 1 */
  uint32_t n_outputs;         /* that are wanted: slices, first places, numbers, counts */
  bool sorted;                /* ascending; else in the order in which they come first */
  int64_t dims[LK_MAX_RANK];
} lk_unique;

/* Params: lk_unique. Pointers: data; slices (up to all of the data); int64_t [dims[axis]] of each:
 * where each slice comes first, which one each of the data is, how many there are, and scratch;
 * dimensions [n_outputs][LK_MAX_RANK], where those of the third output are there already. */
lk_status lk_unique_kernel(const void *params, void *const *pointers, lk_error *error);
