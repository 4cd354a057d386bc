/* Where numbers come from: machine, version, model and options, so that unlike things are not
 * compared unnoticed. */
#pragma once

#include "executor_glue/cli/bench/args.h"
#include "executor_glue/cli/common/report.h"

/* Adds to the report: "schema", "date" (UTC), "latchkey" (the version), "machine" (processor, isa,
 * cores that the process may use), "model_digest" (of the files, not of data beside them),
 * "options" and "environment" (the LATCHKEY_ variables). LK_IO when a model cannot be read. */
lk_status bench_origin_add(const bench_args *args, json_t *report, lk_error *error);
