/* Several settings beside each other: throughput and latency by engine, threads, callers, batch. */
#include "executor_glue/cli/bench/sweep_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/cli/bench/failure_report.h"
#include "executor_glue/cli/bench/result_report.h"

/* Of a batch, the items that it has. */
static double items_per_s(const bench_result *result) {
  const int64_t batch = result->setting.batch;
  return bench_last_pass(result)->requests_per_s * (double)(batch > 0 ? batch : 1);
}

/* p50 of the last pass by that of the first engine at the same threads, callers and batch. 0: one
 * of them has no such pass. */
static double ratio_of(const bench_args *args, const bench_result *results, uint32_t index) {
  const bench_result *one = &results[index], *first = one - index % args->engines.count;
  const bench_pass *pass = bench_last_pass(one), *base = bench_last_pass(first);
  if (pass - one->passes != base - first->passes || base->all.at[BENCH_P50] <= 0) return 0;
  return pass->all.at[BENCH_P50] / base->all.at[BENCH_P50];
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "threads|callers|engine|>batch 1: items/s, p50/p99 ms|>/ native|>batch 4: ..." */
static char *make_titles(const bench_args *args) {
  char *titles = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&titles, &size);
  const bool has_engines = args->engines.count > 1;
  if (stream == NULL) return NULL;
  (void)fprintf(stream, ">threads|>callers%s", has_engines ? "|engine" : "");
  for (uint32_t b = 0; b < args->batches.count; b++) {
    const uint64_t batch = args->batches.values[b];
    if (batch > 0) {
      (void)fprintf(stream, "|>batch %" PRIu64 ": items/s, p50/p99 ms", batch);
    } else {
      (void)fputs("|>requests/s, p50/p99 ms", stream);
    }
    if (has_engines) (void)fprintf(stream, "|>/ %s", args->engines.names[0]);
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

static void ratio_cell(report_table *table, double ratio) {
  if (ratio > 0) {
    report_cell(table, "%.3f", ratio);
  } else {
    report_cell(table, "-");
  }
}

/* The settings of a row, of which there is one for each batch, are as many apart as there are
 * engines. `first`: the index of the first one. */
static void print_row(report_table *table, const bench_args *args, const bench_result *results,
                      uint32_t count, uint32_t first) {
  const uint32_t n_engines = args->engines.count;
  const bench_setting setting =
      first < count ? results[first].setting : bench_setting_at(args, first);
  report_cell(table, "%d", setting.threads);
  report_cell(table, "%" PRIu32, setting.callers);
  if (setting.engine != NULL) report_cell(table, "%s", setting.engine);
  for (uint32_t b = 0; b < args->batches.count; b++) {
    const uint32_t i = first + b * n_engines;
    setting_cell(table, i < count ? &results[i] : NULL);
    if (n_engines > 1) ratio_cell(table, i < count ? ratio_of(args, results, i) : 0);
  }
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
  const uint32_t n_engines = args->engines.count;
  const uint32_t n_of_rows =
      n_engines * args->batches.count; /* settings of equal threads, callers */
  for (uint32_t i = 0; i < bench_args_settings(args); i += n_of_rows) {
    for (uint32_t e = 0; e < n_engines; e++) print_row(table, args, results, count, i + e);
  }
  LK_RETURN_NOT_OK(report_table_print(table, 0, error));
  print_best(results, count);
  return LK_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_comparison(json_t *object, double ratio, const lk_error *difference) {
  const bool differs = difference->status != LK_OK;
  (void)json_object_set_new(object, "ratio", ratio > 0 ? json_real(ratio) : json_null());
  (void)json_object_set_new(object, "outputs_differ",
                            differs ? lk_json_text(difference->message) : json_null());
}

json_t *bench_sweep_json(const bench_args *args, const bench_result *results, uint32_t count) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++) {
    const bench_result *result = &results[i];
    const bench_setting *setting = &result->setting;
    json_t *object =
        json_pack("{s:o, s:i, s:I, s:o, s:o, s:f}", "engine", lk_json_text(result->engine),
                  "threads", (int)setting->threads, "callers", (json_int_t)setting->callers,
                  "batch", setting->batch > 0 ? json_integer(setting->batch) : json_null(),
                  "shapes", lk_json_number(result->distinct), "items_per_s", items_per_s(result));
    if (args->engines.count > 1) {
      add_comparison(object, ratio_of(args, results, i), &result->difference);
    }
    bench_failures_json(args, result, object);
    (void)json_object_set_new(object, "passes", bench_passes_json(args, result));
    (void)json_array_append_new(list, object);
  }
  return list;
}
