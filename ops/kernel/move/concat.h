/* Tensors behind each other along an axis, in one pass over the output.
 *
 * Bound: bytes, each read and written once. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"
#include "ops/kernel/move/copy_plane.h"
#include "ops/kernel/move/interleave.h"

enum { LK_CONCAT_SOURCES = 60 };

typedef struct lk_concat {
  int64_t rows; /* places outside the axis */
  uint32_t count;
  bool shared; /* worth it to wake other threads */
  /* ---- by lk_concat_plan ---- */
  const lk_copy_planes *planes;
  lk_interleave_fn *interleave; /* rows are of an element of each; NULL: they are not */
  size_t row;                   /* bytes of a row of the output */
  size_t piece;                 /* bytes of a row in a turn */
  int64_t tile;                 /* rows in a turn: 1 where it is not a whole one */
  int64_t turns;
  /* ---- */
  size_t blocks[LK_CONCAT_SOURCES]; /* bytes of each source in a row; those behind `count` may be
                                     * left out */
} lk_concat;

/* Sets the second part from the others, for rows and blocks of at least 1. */
void lk_concat_plan(lk_concat *self);
void lk_concat_plan_for(lk_concat *self, lk_isa isa); /* of tests */

/* Params: lk_concat. Pointers: the sources, each [rows][block], to. */
lk_status lk_concat_kernel(const void *params, void *const *pointers, lk_error *error);
