/* Roughly how long a step takes on one thread, from its arithmetic and shapes: to tell long
 * branches from short ones before anything has run. Nanoseconds of no machine in particular. */
#pragma once

#include "executor_glue/graph/graph.h"

/* `flops` as in lk_plan_info; `inputs` [n_inputs] and `outputs` [n_outputs]: NULL where one is
 * absent. */
double lk_step_cost(double flops, const lk_tensor_desc *const *inputs, uint32_t n_inputs,
                    const lk_tensor_desc *const *outputs, uint32_t n_outputs);
/* The same operator where it may have `threads` threads, which begin and end together; oneDNN gives
 * one to what is too small for more. */
double lk_step_cost_shared(double cost, int32_t threads);
