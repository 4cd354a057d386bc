/* Rotary position embedding (Su et al., RoFormer, arXiv 2104.09864): pairs of a head's elements are
 * turned by angles that its row's position says. Bound: bytes. */
#pragma once

#include "ops/kernel/kernel.h"

/* Strides are in elements; the elements of a head lie side by side. */
typedef struct lk_rotary {
  int64_t batch, heads, rows, size;
  int64_t rotated;     /* elements of a head that are turned, even; the others are copied */
  int64_t first;       /* where x begins */
  int64_t from[3];     /* of batch, head and row, in x */
  int64_t to[3];       /* in y */
  int64_t positions;   /* rows that cos and sin have for them; -1: one for each batch and row */
  bool has_positions;  /* else the row of a batch is its position */
  bool is_first;       /* one position is given, of row 0 */
  bool is_interleaved; /* pairs lie side by side; else their second ones half of them behind */
} lk_rotary;

/* Params: lk_rotary. Pointers: x and y f32, which may be equal; cos and sin f32, [positions or
 * batch * rows][rotated / 2]; positions i64, [batch][rows] or one, with has_positions.
 * LK_OUT_OF_RANGE: a position without a row. */
lk_status lk_rotary_kernel(const void *params, void *const *pointers, lk_error *error);
