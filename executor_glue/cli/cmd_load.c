/* latchkey load: several models under load from several threads. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/clock.h"
#include "executor_glue/cli/common/progress.h"
#include "executor_glue/cli/load/args.h"
#include "executor_glue/cli/load/report.h"
#include "executor_glue/cli/load/run.h"

/* The report comes first, and is whole: what failed is part of it. */
static lk_status check_failures(const load_result *result, lk_error *error) {
  const load_failures *failures = &result->failures;
  const load_failures *mismatches = &result->mismatches;
  if (failures->count > 0) {
    return lk_fail(error, LK_INTERNAL, "failed to serve %" PRIu64 " requests, the first: %s",
                   failures->count, failures->messages[0]);
  }
  if (mismatches->count > 0) {
    return lk_fail(error, LK_INTERNAL,
                   "failed to repeat the outputs of %" PRIu64 " requests, the first: %s",
                   mismatches->count, mismatches->messages[0]);
  }
  return LK_OK;
}

static lk_status load(void *arguments, lk_error *error) {
  const load_args *args = arguments;
  lk_status status = LK_OK;
  load_models models = {0};
  load_result result = {0};
  progress bar;
  progress_begin(&bar, "opening", 0);

  LK_TRY(load_models_create(args, &models, error));
  progress_end(&bar);
  LK_TRY(load_run_all(&models, &result, error));
  LK_TRY(args->common.model.json ? load_report_json(&result, error)
                                 : load_report_text(&result, error));
  LK_TRY(check_failures(&result, error));

cleanup:
  progress_end(&bar);
  load_result_destroy(&result);
  load_models_destroy(&models);
  return status;
}

int cli_cmd_load(int argc, char **argv) {
  const lk_allocator *allocator = lk_allocator_default();
  load_args args = {
      .threads = 1, .warmup_ns = CLI_SECOND_NS, .within = {.relative = 1e-3, .absolute = 1e-5}};
  const int code = cli_run(&load_argp, argc, argv, &args.common, 32, load);
  for (size_t i = 0; i < args.n_models; i++) lk_free(allocator, args.models[i].name);
  lk_free(allocator, args.models);
  return code;
}
