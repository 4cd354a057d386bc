/* What a measurement showed, as tables and as JSON. */
#pragma once

#include "executor_glue/cli/bench/measure.h"
#include "executor_glue/cli/common/report.h"

/* "p50_ms" and so on, "new_shapes", "known_shapes", memory and counts of the cache of each pass. */
json_t *bench_passes_json(const bench_args *args, const bench_result *result);
/* The passes beside each other; of several models, each in the last pass. */
lk_status bench_passes_print(const bench_args *args, const bench_result *result, lk_error *error);

/* The pass whose numbers stand for a setting: the last that has requests. */
const bench_pass *bench_last_pass(const bench_result *result);
