/* What a step of a plan runs, and how much work that is: for those who measure, after the plan is
 * made. */
#pragma once

#include "ops/plan/plan_body.h"

/* Of step `index`, which is there. */
lk_step_info lk_step_describe(const lk_plan_body *body, uint32_t index);
/* The kernel of the step with the most work; "": there is no step. */
const char *lk_plan_main_kernel(const lk_plan_body *body);
