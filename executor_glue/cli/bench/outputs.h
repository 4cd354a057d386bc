/* Whether engines compute the same: a fast wrong number is no result. */
#pragma once

#include "executor_glue/cli/bench/measure.h"

/* Runs the first request of each model in each of `count` subjects, and notes in `results` whose
 * outputs are not within args->within of those of the first one. Returns why a run failed. */
lk_status bench_outputs_compare(const bench_args *args, bench_subject *subjects, uint32_t count,
                                bench_result *results, lk_error *error);
