/* Operands of operators that take elements between others: kernels have f32 and f64, where f16 and
 * bf16 are computed in f32 and rounded once. */
#pragma once

#include "ops/plan/planner.h"

/* Input `index`, plain: f32 or f64. */
lk_status lk_plan_sampled_input(lk_planner *planner, uint32_t index, lk_operand *out,
                                lk_error *error);
/* Output 0, plain, and where kernels write: the same, or a temporary of f32. */
lk_status lk_plan_sampled_output(lk_planner *planner, lk_operand *out, lk_operand *out_wide,
                                 lk_error *error);
/* The last step: output 0 from where kernels wrote. */
lk_status lk_plan_sampled_end(lk_planner *planner, const lk_operand *wide, const lk_operand *to,
                              lk_error *error);
