/* Plans for an input without elements and an output with some: sums and means of nothing. */
#ifndef LK_OPS_EMPTY_H
#define LK_OPS_EMPTY_H

#include "ops/plan/planner.h"

/* A whole plan: every element of output 0 is a sum of no elements, which is 0, plus that of input
 * `bias` for its channel (one f32 for each; -1: no bias), with the node's post-ops. */
lk_status lk_plan_sum_of_nothing(lk_planner *planner, int32_t bias, lk_error *error);

/* The same for means of no elements: 0 / 0, NaN, in the floating-point type that output 0 has. */
lk_status lk_plan_mean_of_nothing(lk_planner *planner, lk_error *error);

#endif
