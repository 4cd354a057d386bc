/* A setting that is measured: an engine, a number of threads, of callers, and a batch. */
#include "executor_glue/cli/bench/setting.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "executor_glue/cli/common/report.h"

bench_setting bench_setting_at(const bench_args *args, uint32_t index) {
  const uint32_t engine = index % args->engines.count;
  index /= args->engines.count;
  const uint32_t batch = index % args->batches.count;
  index /= args->batches.count;
  const uint32_t caller = index % args->callers.count;
  const uint32_t thread = index / args->callers.count;
  return (bench_setting){.engine = args->engines.count > 1 ? args->engines.names[engine] : NULL,
                         .threads = (int32_t)args->threads.values[thread],
                         .callers = (uint32_t)args->callers.values[caller],
                         .batch = (int64_t)args->batches.values[batch]};
}

model_args bench_setting_options(const bench_args *args, const bench_setting *setting) {
  model_args options = args->common.model;
  if (setting->engine != NULL) options.context.engine = setting->engine;
  if (setting->threads > 0) options.context.threads = setting->threads;
  return options;
}

const char *bench_setting_text(const bench_setting *setting, char buffer[BENCH_SETTING_CAPACITY]) {
  char engine[72] = "", threads[32] = "", batch[32] = "";
  if (setting->engine != NULL) (void)snprintf(engine, sizeof engine, "%.64s, ", setting->engine);
  if (setting->threads > 0) {
    (void)snprintf(threads, sizeof threads, "%" PRId32 " thread%s, ", setting->threads,
                   report_s((uint64_t)setting->threads));
  }
  if (setting->batch > 0) (void)snprintf(batch, sizeof batch, ", batch %" PRId64, setting->batch);
  (void)snprintf(buffer, BENCH_SETTING_CAPACITY, "%s%s%" PRIu32 " caller%s%s", engine, threads,
                 setting->callers, report_s(setting->callers), batch);
  return buffer;
}

lk_status bench_setting_prefix(const bench_args *args, const bench_setting *setting,
                               lk_status status, lk_error *error) {
  char text[BENCH_SETTING_CAPACITY];
  if (status == LK_OK || bench_args_settings(args) == 1) return status;
  return lk_error_prefix(error, status, "%s", bench_setting_text(setting, text));
}
