/* Reductions of whole numbers whose totals need not fit in 64 bits. */
#pragma once

#include "ops/plan/reduction.h"

/* Whether a mean, root or logarithm of whole numbers may need what 64 bits do not hold. Means of 32
 * bits do not: their totals fit. */
bool lk_reduction_is_whole(uint32_t dtype, const lk_reduction *reduction);

/* Steps: `to` is `from`, of integers, reduced over the dimensions of `mask`; both lie plain. The
 * total is exact where it fits in 64 bits, else that of f64, of which the result is cut toward zero
 * and held within its type. The logarithm of what is not positive is the least value. */
lk_status lk_plan_whole_reduction(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                                  uint32_t mask, const lk_reduction *reduction, lk_error *error);
