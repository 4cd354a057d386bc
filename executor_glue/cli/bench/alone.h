/* What each request gives when it runs alone, for --check. */
#pragma once

#include "executor_glue/cli/bench/subject.h"
#include "executor_glue/cli/common/compare.h"

/* Runs every request of a subject in a context of its own, and keeps the outputs in its models. */
lk_status bench_alone_run(const bench_args *args, bench_subject *subject, lk_error *error);

/* Whether `lane`, which has just run the request, has these outputs; LK_OK also where none were
 * kept. */
lk_status bench_alone_check(const bench_subject *subject, uint64_t request, const cli_model *lane,
                            tolerance within, lk_error *error);
