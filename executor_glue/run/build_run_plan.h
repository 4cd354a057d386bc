/* Builds run plans. */
#pragma once

#include "executor_glue/run/run_plan.h"

/* Binds every node that a wanted output needs. LK_UNSUPPORTED names a node and the input whose
 * value its shapes depend on when that value cannot be known before the run.
 *
 * With more than one worker, the plan has a schedule where running in parallel is faster, each step
 * on one thread, than the steps in their order on the context's threads. */
lk_status lk_build_run_plan(const lk_program *program, const lk_run_plan_desc *desc,
                            lk_run_plan **out_plan, lk_error *error);
