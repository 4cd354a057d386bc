/* Linear and cubic interpolation along two neighbouring dimensions, or one: [outer][y][x][inner],
 * by tables of taps (resize_table.h).
 *
 * Where the elements of a pixel lie side by side, each is the sum of its taps. Else lines are
 * interpolated along x, of which a few stay in the cache, and blended along y. A step of f32 is on
 * vectors; the other types are computed in f32 where it holds them exactly, else in f64.
 *
 * Bound: bytes, when all taps of a pixel are in a cache. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/sample/resize_loops.h"
#include "ops/kernel/sample/resize_types.h"

/* One side of the plane. Without taps it stays as it is. */
typedef struct lk_resize_side {
  int64_t in, out, taps;
  int64_t indices, weights; /* where the table has them */
} lk_resize_side;

typedef struct lk_resize {
  uint32_t from_type, to_type; /* lk_dtype; different ones only if one is lk_resize_wide's */
  bool wide;                   /* weights are f64, else f32 */
  bool shared;
  int64_t outer, inner;
  lk_resize_side y, x;
  /* ---- by lk_resize_plan ---- */
  const lk_resize_loops *loops;
  lk_resize_moves in, out; /* of types that are computed in f32 */
  bool is_f32;             /* on both sides */
  bool is_small;           /* a turn is a plane of single elements, which stays in the caches */
  int64_t rows, columns;   /* of a turn; columns are pixels, or elements of a line */
  int64_t row_turns, column_turns;
} lk_resize;

/* For sides of at least 1. */
void lk_resize_plan(lk_resize *self, lk_isa isa);

/* Params: lk_resize. Pointers: from, table, to. */
lk_status lk_resize_kernel(const void *params, void *const *pointers, lk_error *error);
