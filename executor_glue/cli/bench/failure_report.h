/* Requests that failed, or whose outputs were other than alone: as text and as JSON. */
#pragma once

#include "executor_glue/cli/bench/measure.h"
#include "executor_glue/cli/common/report.h"

/* Adds "errors" and "mismatches", which is null without --check. */
void bench_failures_json(const bench_args *args, const bench_result *result, json_t *object);
/* Behind the tables: each sentence, and how often it came. */
void bench_failures_print(const bench_args *args, const bench_result *result);
/* Why the command fails: the first of `count` results with one that failed, or differed. LK_OK:
 * there is none. */
lk_status bench_failures_check(const bench_args *args, const bench_result *results, uint32_t count,
                               lk_error *error);
