/* Builds run plans. */
#pragma once

#include "executor_glue/run/run_plan.h"

/* Binds every node that a wanted output needs. LK_UNSUPPORTED names a node and the input whose
 * value its shapes depend on when that value cannot be known before the run.
 *
 * With more than one worker, only the bound nodes tell whether running in parallel is faster, each
 * step on one thread, than the steps in their order on the context's threads. So `desc->threads` is
 * a guess: 1 for parallel, else 0. `*out_plan` is NULL where the guess was wrong. */
lk_status lk_build_run_plan(const lk_program *program, const lk_run_plan_desc *desc,
                            lk_run_plan **out_plan, lk_error *error);
