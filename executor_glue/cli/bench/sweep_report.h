/* Several settings beside each other: throughput and latency by engine, threads, callers, batch. */
#pragma once

#include "executor_glue/cli/bench/args.h"
#include "executor_glue/cli/bench/measure.h"
#include "executor_glue/cli/common/report.h"

/* A row for each number of threads and of callers, and for each engine where several are compared,
 * columns for each batch. `results` [count] are in the order of bench_setting_at; those beyond were
 * not measured, and show as "-". */
lk_status bench_sweep_print(const bench_args *args, const bench_result *results, uint32_t count,
                            lk_error *error);
/* A list of settings with their passes; where engines are compared, with "ratio" and
 * "outputs_differ". */
json_t *bench_sweep_json(const bench_args *args, const bench_result *results, uint32_t count);
