/* Poolings in plain C: what oneDNN has only reference implementations of, or does otherwise than
 * ONNX. Called from the plans in pool.c. Plain or channels-last, f32 and f64, 1 to 3 dimensions. */
#ifndef LK_OPS_POOL_KERNEL_H
#define LK_OPS_POOL_KERNEL_H

#include "ops/plan/planner.h"
#include "ops/plan/window.h"

typedef enum lk_pool_kind {
  LK_POOL_MAX,
  LK_POOL_MEAN,             /* of the elements */
  LK_POOL_MEAN_WITH_PADDING /* also of the declared padding, but of nothing beyond it */
} lk_pool_kind;

/* A window laid over a tensor, always of three spatial dimensions: those that are not there come
 * first, with sizes of 1. `inner` numbers belong to each place: the channels, or 1 when plain. */
typedef struct lk_pool_geometry {
  int64_t outer, inner;
  int64_t in[LK_MAX_SPATIAL], out[LK_MAX_SPATIAL];
  int64_t kernel[LK_MAX_SPATIAL], strides[LK_MAX_SPATIAL], dilations[LK_MAX_SPATIAL];
  int64_t begin[LK_MAX_SPATIAL], declared[LK_MAX_SPATIAL];
} lk_pool_geometry;

/* For an input `x` as its layout says. */
lk_pool_geometry lk_pool_geometry_make(const lk_window_shape *shape, const lk_tensor_desc *x);

/* The first tap, counted from 0, that does not lie before the input, of a window that starts at
 * `start`, and the tap behind the last one that does not lie behind it. */
int64_t lk_pool_first_tap(const lk_pool_geometry *self, uint32_t dim, int64_t start);
int64_t lk_pool_end_tap(const lk_pool_geometry *self, uint32_t dim, int64_t start);

/* A step that pools `src` into `dst`, of one layout. With `positions` (i32, in the layout of `dst`;
 * maxima only), it also writes which element of the kernel was the largest, as oneDNN's workspace
 * has it: 0 where nothing was larger than minus infinity. The kernel then has at most 2^31 - 1
 * elements. */
lk_status lk_plan_pool_kernel(lk_planner *planner, lk_pool_kind kind, const lk_window_shape *shape,
                              const lk_operand *src, const lk_operand *dst,
                              const lk_operand *positions, lk_error *error);

/* A step that turns `dst` (f32), sums over windows divided by the whole kernel, into
 * LK_POOL_MEAN_WITH_PADDING: a correction of the windows that reach beyond the declared padding. */
lk_status lk_plan_pool_divisors(lk_planner *planner, const lk_window_shape *shape,
                                const lk_operand *src, const lk_operand *dst, lk_error *error);
/* Whether there is such a window. */
bool lk_pool_reaches_beyond(const lk_window_shape *shape);

/* A step that makes output `index` of the node, MaxPool's Indices, of `positions` (u8 or i32 in
 * plain or channels-last layout) for an input `x`. `column_major`: storage_order is 1. */
lk_status lk_plan_pool_indices(lk_planner *planner, uint32_t index, const lk_window_shape *shape,
                               const lk_tensor_desc *x, const lk_operand *positions,
                               bool column_major, lk_error *error);

#endif
