/* Nearest neighbours along all dimensions at once, for elements of any type, and the extrapolation
 * value.
 *
 * Bound: bytes of the output, each written once. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"
#include "ops/kernel/sample/resize_loops.h"

/* The dimensions of the output are in the order of memory, and the last one is resized; the
 * elements of a block lie together on both sides. */
typedef struct lk_resize_nearest_map {
  uint32_t rank;
  size_t block; /* bytes */
  int64_t rows; /* of the output: all dimensions but the last */
  const lk_resize_loops *loops;
  int64_t dims[LK_MAX_RANK];    /* of the output */
  int64_t steps[LK_MAX_RANK];   /* bytes between input neighbours */
  int64_t indices[LK_MAX_RANK]; /* where a table (resize_table.h) has them; -1: it stays the same */
} lk_resize_nearest_map;

/* Sets `rows` and `loops` from the others. */
void lk_resize_nearest_plan(lk_resize_nearest_map *self, lk_isa isa);

/* Params: lk_resize_nearest_map. Pointers: from, table, to. */
lk_status lk_resize_nearest_kernel(const void *params, void *const *pointers, lk_error *error);

/* Writes the extrapolation value where any dimension is outside. */
typedef struct lk_resize_outside {
  uint32_t rank;
  size_t block; /* bytes of an element */
  uint8_t value[8];
  int64_t dims[LK_MAX_RANK];    /* of the output, in the order of memory */
  int64_t outside[LK_MAX_RANK]; /* where a table has it; -1: nothing of this dimension is */
} lk_resize_outside;

/* Params: lk_resize_outside. Pointers: table, to. */
lk_status lk_resize_outside_kernel(const void *params, void *const *pointers, lk_error *error);
