/* Poolings, for the operators that are one and for those that can be computed by one. */
#pragma once

#include "ops/kernel/reduce/pool.h"
#include "ops/plan/pattern.h"
#include "ops/plan/planner.h"
#include "ops/plan/window.h"

/* A whole plan: output 0 is input 0 pooled, with the node's post-ops; output 1, when it is there,
 * is where each maximum lies. `column_major`: storage_order is 1. */
lk_status lk_plan_pool(lk_planner *planner, lk_pool_kind kind, const lk_window_shape *shape,
                       bool column_major, lk_error *error);

/* A step: `to` is `from` pooled. Both have one layout, and a type that the kernel has. */
lk_status lk_plan_pool_step(lk_planner *planner, lk_pool_kind kind, const lk_window_shape *shape,
                            const lk_operand *from, const lk_operand *to, lk_error *error);

/* A whole plan: the mean of each channel of input 0, over all spatial dimensions, or the largest
 * element. */
lk_status lk_plan_global_average(lk_planner *planner, lk_error *error);
lk_status lk_plan_global_max(lk_planner *planner, lk_error *error);

/* Such plans for other sizes, as lk_op_class.resize. */
bool lk_resize_pool(const lk_resizing *self, lk_pool_kind kind, const lk_window_shape *shape);
bool lk_resize_global_average(const lk_resizing *self);
bool lk_resize_global_max(const lk_resizing *self);
