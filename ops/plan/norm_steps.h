/* Steps that normalize rows. */
#pragma once

#include "ops/kernel/reduce/norm.h"
#include "ops/plan/planner.h"

/* A norm's step, but for its loops: operands are what lk_norm_kernel reads and writes, in its
 * order. */
lk_status lk_plan_norm(lk_planner *planner, lk_norm *step, const lk_operand *operands,
                       uint32_t n_operands, lk_error *error);
