/* Roughly how long a step takes on one thread, from its arithmetic and shapes: to tell long
 * branches from short ones before anything has run. Nanoseconds of no machine in particular. */
#pragma once

#include <stdint.h>

/* `flops` as in lk_plan_info; `bytes` of all inputs and outputs. */
double lk_step_cost(double flops, double bytes);
/* The same operator where it may have `threads` threads, which begin and end together; what is too
 * small for more has one. */
double lk_step_cost_shared(double cost, int32_t threads);
