/* --latencies: what was measured of each request, in a file. */
#pragma once

#include "executor_glue/cli/bench/measure.h"
#include "executor_glue/cli/common/report.h"

/* Writes FILE.csv, or FILE.json with `report` in it, whole or not at all. `results` [count] have
 * their shapes. LK_IO. */
lk_status bench_raw_write(const bench_args *args, const bench_result *results, uint32_t count,
                          const json_t *report, lk_error *error);
