/* Poolings that other operators use. */
#ifndef LK_OPS_POOL_H
#define LK_OPS_POOL_H

#include "ops/plan/planner.h"

/* A whole plan: output 0 = mean of each channel of input 0, over all spatial dimensions. */
lk_status lk_plan_global_average(lk_planner *planner, lk_error *error);

#endif
