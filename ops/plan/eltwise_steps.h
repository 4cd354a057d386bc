/* Element-wise steps that several operators emit. */
#pragma once

#include "ops/plan/planner.h"

/* A whole plan: output 0 = algorithm(input 0), with the node's post-ops. */
lk_status lk_plan_eltwise(lk_planner *planner, dnnl_alg_kind_t algorithm, float alpha, float beta,
                          lk_error *error);

/* One step: to = a (algorithm) b, where `b` broadcasts to `a`'s shape; ranks may differ. With
 * `post_ops`, the node's post-ops are applied to `to`. */
lk_status lk_plan_binary_step(lk_planner *planner, dnnl_alg_kind_t algorithm, const lk_operand *a,
                              const lk_operand *b, const lk_operand *to, bool post_ops,
                              lk_error *error);

/* The node's post-ops from `first` on, as steps of their own on `to` (f32), for a primitive or
 * kernel that does not take them. */
lk_status lk_plan_post_ops(lk_planner *planner, uint32_t first, const lk_operand *to,
                           lk_error *error);

/* ---- for an input without elements and an output with some: oneDNN refuses most of them, and
 * there is nothing to compute but what a reduction starts from ---- */

/* A whole plan: every element of output 0 is a sum of no elements, which is 0, plus that of input
 * `bias` for its channel (one f32 for each; -1: no bias), with the node's post-ops. */
lk_status lk_plan_sum_of_nothing(lk_planner *planner, int32_t bias, lk_error *error);

/* The same for means of no elements: 0 / 0, NaN, in the floating-point type that output 0 has. */
lk_status lk_plan_mean_of_nothing(lk_planner *planner, lk_error *error);
