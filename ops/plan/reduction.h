/* Steps that reduce dimensions. */
#pragma once

#include "ops/kernel/reduce.h"
#include "ops/plan/planner.h"

/* Output 0 of the dimensions of `from`, an input in one of the two fixed layouts, that are not in
 * `mask` (a bit each); those that are may be left out, or have size 1. `to` is output 0 too, or a
 * temporary of its dimensions. */
lk_status lk_plan_reduce_step(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                              uint32_t mask, lk_reduce_kind kind, double factor, lk_error *error);

/* A whole plan: output 0 is input 0 (f32) reduced over the dimensions of `mask`, times `factor`.
 * The result has the input's layout where all dimensions are kept. */
lk_status lk_plan_reduction(lk_planner *planner, uint32_t mask, lk_reduce_kind kind, double factor,
                            lk_error *error);
