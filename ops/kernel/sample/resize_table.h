/* Tables of taps: what the kernels that resize go by. They are computed before each run, in time
 * that grows with the sides of the output, not with its area. */
#pragma once

#include "ops/kernel/kernel.h"
#include "ops/kernel/sample/resize_taps.h"

typedef struct lk_resize_axis {
  lk_stretch stretch;
  /* ---- by lk_resize_table_plan ---- */
  int64_t taps; /* of each position */
  /* Where the table has them, in bytes: indices, int32_t [taps][out]; weights, f32 or f64 [taps]
   * [out], which nearest has not; and for tf_crop_and_resize, uint8_t [out], what is outside. */
  int64_t indices, weights, outside;
} lk_resize_axis;

typedef struct lk_resize_table {
  lk_resize_rule rule;
  bool wide;                        /* weights are f64, else f32 */
  uint32_t count;                   /* of axes that are resized */
  int64_t bytes;                    /* by lk_resize_table_plan */
  lk_resize_axis axes[LK_MAX_RANK]; /* those behind `count` may be left out */
} lk_resize_table;

/* LK_OUT_OF_RANGE: it is too large. */
lk_status lk_resize_table_plan(lk_resize_table *self, lk_error *error);

/* Params: lk_resize_table. Pointers: the table. */
lk_status lk_resize_table_kernel(const void *params, void *const *pointers, lk_error *error);
