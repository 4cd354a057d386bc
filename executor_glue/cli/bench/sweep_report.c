/* Several settings beside each other: throughput and latency by threads, callers and batch. */
#include "executor_glue/cli/bench/sweep_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/cli/bench/result_report.h"

bench_setting bench_setting_at(const bench_args *args, uint32_t index) {
  const uint32_t batch = index % args->batches.count;
  const uint32_t caller = index / args->batches.count % args->callers.count;
  const uint32_t thread = index / args->batches.count / args->callers.count;
  return (bench_setting){.threads = (int32_t)args->threads.values[thread],
                         .callers = (uint32_t)args->callers.values[caller],
                         .batch = (int64_t)args->batches.values[batch]};
}

/* Of a batch, the items that it has. */
static double items_per_s(const bench_result *result) {
  const int64_t batch = result->setting.batch;
  return bench_last_pass(result)->requests_per_s * (double)(batch > 0 ? batch : 1);
}

/* "threads|callers|>batch 1|p50/p99 ms|>batch 4|p50/p99 ms" */
static char *make_titles(const bench_args *args) {
  char *titles = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&titles, &size);
  if (stream == NULL) return NULL;
  (void)fputs(">threads|>callers", stream);
  for (uint32_t b = 0; b < args->batches.count; b++) {
    const uint64_t batch = args->batches.values[b];
    if (batch > 0) {
      (void)fprintf(stream, "|>batch %" PRIu64 ": items/s, p50/p99 ms", batch);
    } else {
      (void)fputs("|>requests/s, p50/p99 ms", stream);
    }
  }
  return fclose(stream) == 0 ? titles : NULL;
}

static void setting_cell(report_table *table, const bench_result *result) {
  const bench_pass *pass = result != NULL ? bench_last_pass(result) : NULL;
  if (pass == NULL || pass->all.requests == 0) {
    report_cell(table, "-");
    return;
  }
  report_cell(table, "%.1f  %.3f/%.3f", items_per_s(result), pass->all.at[BENCH_P50],
              pass->all.at[BENCH_P99]);
}

static void print_best(const bench_result *results, uint32_t count) {
  const bench_result *best = NULL;
  char text[BENCH_SETTING_CAPACITY];
  for (uint32_t i = 0; i < count; i++) {
    if (best == NULL || items_per_s(&results[i]) > items_per_s(best)) best = &results[i];
  }
  if (best == NULL) return;
  (void)printf("most %s/s: %s\n", best->setting.batch > 0 ? "items" : "requests",
               bench_setting_text(&best->setting, text));
}

lk_status bench_sweep_print(const bench_args *args, const bench_result *results, uint32_t count,
                            lk_error *error) {
  char *titles = make_titles(args);
  if (titles == NULL) return lk_fail_memory(error, "a table", sizeof *titles);
  report_table *table = report_table_create(titles);
  free(titles);
  const uint32_t columns = args->batches.count;
  for (uint32_t i = 0; i < bench_args_settings(args); i++) {
    const bench_result *result = i < count ? &results[i] : NULL;
    const bench_setting setting = result != NULL ? result->setting : bench_setting_at(args, i);
    if (i % columns == 0) {
      report_cell(table, "%d", setting.threads);
      report_cell(table, "%" PRIu32, setting.callers);
    }
    setting_cell(table, result);
  }
  LK_RETURN_NOT_OK(report_table_print(table, 0, error));
  print_best(results, count);
  return LK_OK;
}

json_t *bench_sweep_json(const bench_result *results, uint32_t count) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++) {
    const bench_result *result = &results[i];
    const bench_setting *setting = &result->setting;
    json_t *passes = bench_passes_json(result);
    (void)json_array_append_new(
        list, json_pack("{s:i, s:I, s:o, s:o, s:f, s:o}", "threads", (int)setting->threads,
                        "callers", (json_int_t)setting->callers, "batch",
                        setting->batch > 0 ? json_integer(setting->batch) : json_null(), "shapes",
                        lk_json_number(result->distinct), "items_per_s", items_per_s(result),
                        "passes", passes));
  }
  return list;
}
