/* What a measurement showed, as tables and as JSON. */
#include "executor_glue/cli/bench/result_report.h"

#include <inttypes.h>

#include "base/names.h"
#include "base/status.h"
#include "executor_glue/cli/bench/order_stats.h"
#include "executor_glue/cli/common/cache_counts.h"

const bench_pass *bench_last_pass(const bench_result *result) {
  return &result->passes[result->passes[1].all.requests > 0 ? 1 : 0];
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *ms_json(const bench_times *times, double ms) {
  return times->requests > 0 ? json_real(ms) : json_null();
}

/* Adds "mean_ms", "p50_ms" ... and "intervals_ms"; null where there is no request, or too few. */
static json_t *add_times(json_t *object, const bench_times *times) {
  char key[16];
  json_t *intervals = json_object();
  (void)json_object_set_new(object, "requests", lk_json_number(times->requests));
  (void)json_object_set_new(object, "mean_ms", ms_json(times, times->mean));
  (void)json_object_set_new(object, "min_ms", ms_json(times, times->min));
  (void)json_object_set_new(object, "max_ms", ms_json(times, times->max));
  for (uint32_t q = 0; q < BENCH_QUANTILES; q++) {
    const char *name = bench_quantiles[q].key;
    (void)snprintf(key, sizeof key, "%s_ms", name);
    (void)json_object_set_new(object, key, ms_json(times, times->at[q]));
    json_t *interval =
        times->has_interval[q] ? json_pack("[f, f]", times->low[q], times->high[q]) : json_null();
    (void)json_object_set_new(intervals, name, interval);
  }
  (void)json_object_set_new(object, "intervals_ms", intervals);
  return object;
}

/* A model's part of the requests per second is that of the requests. */
static double model_requests_per_s(const bench_pass *pass, uint32_t model) {
  if (pass->all.requests == 0) return 0;
  const double part = (double)pass->models[model].times.requests / (double)pass->all.requests;
  return pass->requests_per_s * part;
}

static json_t *models_json(const bench_pass *pass) {
  json_t *list = json_array();
  for (uint32_t m = 0; m < pass->n_models; m++) {
    const bench_model_pass *model = &pass->models[m];
    json_t *object =
        json_pack("{s:o, s:o, s:f, s:o, s:o}", "name", lk_json_text(model->name), "shapes",
                  lk_json_number(model->distinct), "requests_per_s", model_requests_per_s(pass, m),
                  "run_plan_hits", lk_json_number(model->plans.hits), "run_plan_builds",
                  lk_json_number(model->plans.builds));
    (void)json_array_append_new(list, add_times(object, &model->times));
  }
  return list;
}

static bench_plans sum_of_plans(const bench_pass *pass) {
  bench_plans sum = {0};
  for (uint32_t m = 0; m < pass->n_models; m++) {
    sum.hits += pass->models[m].plans.hits;
    sum.builds += pass->models[m].plans.builds;
  }
  return sum;
}

static double processors(const bench_pass *pass) {
  return pass->elapsed_ns > 0 ? (double)pass->cpu_ns / (double)pass->elapsed_ns : 0;
}

static json_t *pass_json(const bench_pass *pass, bool has_rate) {
  const lk_kind_stats sum = cache_counts_sum(&pass->before, &pass->after);
  const bench_plans plans = sum_of_plans(pass);
  json_t *object = json_pack(
      "{s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o, s:o}", "requests_per_s",
      pass->requests_per_s, "new_shapes", add_times(json_object(), &pass->by_shapes[BENCH_NEW]),
      "known_shapes", add_times(json_object(), &pass->by_shapes[BENCH_KNOWN]), "rss_before",
      lk_json_number(pass->rss_before), "rss_after", lk_json_number(pass->rss_after), "hits",
      lk_json_number(sum.hits), "misses", lk_json_number(sum.misses), "builds",
      lk_json_number(sum.builds), "waits", lk_json_number(sum.waits), "evictions",
      lk_json_number(sum.evictions), "build_ms", (double)sum.build_ns / 1e6, "run_plan_hits",
      lk_json_number(plans.hits), "run_plan_builds", lk_json_number(plans.builds), "kinds",
      cache_counts_kinds_json(&pass->before, &pass->after));
  (void)json_object_set_new(object, "rss_peak", lk_json_number(pass->rss_peak));
  (void)json_object_set_new(object, "seconds", json_real((double)pass->elapsed_ns / 1e9));
  (void)json_object_set_new(object, "cpu_s", json_real((double)pass->cpu_ns / 1e9));
  (void)json_object_set_new(object, "processors", json_real(processors(pass)));
  json_t *late = has_rate ? json_pack("{s:f, s:f}", "mean", pass->late_mean, "max", pass->late_max)
                          : json_null();
  (void)json_object_set_new(object, "late_ms", late);
  (void)json_object_set_new(object, "unserved", lk_json_number(pass->unserved));
  if (pass->n_models > 1) (void)json_object_set_new(object, "models", models_json(pass));
  return add_times(object, &pass->all);
}

json_t *bench_passes_json(const bench_args *args, const bench_result *result) {
  json_t *list = json_array();
  for (size_t p = 0; p < BENCH_PASSES; p++) {
    (void)json_array_append_new(list, pass_json(&result->passes[p], args->rate > 0));
  }
  return list;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void quantile_cell(report_table *table, const bench_times *times, uint32_t q) {
  if (times->requests == 0) {
    report_cell(table, "-");
  } else if (times->has_interval[q]) {
    report_cell(table, "%.3f (%.3f to %.3f)", times->at[q], times->low[q], times->high[q]);
  } else {
    report_cell(table, "%.3f (needs %" PRIu64 " requests)", times->at[q],
                order_interval_needs(bench_quantiles[q].permille));
  }
}

/* In ms, "-" without requests. */
static void ms_cell(report_table *table, const bench_times *times, double ms) {
  if (times->requests > 0) {
    report_cell(table, "%.3f", ms);
  } else {
    report_cell(table, "-");
  }
}

static void times_cell(report_table *table, const bench_times *times) {
  if (times->requests == 0) {
    report_cell(table, "-");
    return;
  }
  report_cell(table, "%.3f/%.3f/%.3f", times->mean, times->at[BENCH_P50], times->at[BENCH_P99]);
}

/* Of the last pass. */
static lk_status print_models(const bench_pass *pass, lk_error *error) {
  report_table *table = report_table_create(
      "latency in ms|>requests|>requests/s|>mean|>p50|>p90|>p95|>p99|>p99.9|>max");
  for (uint32_t m = 0; m < pass->n_models; m++) {
    const bench_times *times = &pass->models[m].times;
    report_cell(table, "%s", pass->models[m].name);
    report_cell(table, "%" PRIu64, times->requests);
    report_cell(table, "%.1f", model_requests_per_s(pass, m));
    ms_cell(table, times, times->mean);
    for (uint32_t q = 0; q < BENCH_QUANTILES; q++) ms_cell(table, times, times->at[q]);
    ms_cell(table, times, times->max);
  }
  return report_table_print(table, 0, error);
}

static lk_status print_passes(const bench_pass *passes, bool has_rate, lk_error *error) {
  char text[REPORT_TEXT_CAPACITY];
  report_table *table = report_table_create("95 % intervals in ()|first pass|later passes");
#define ROW(title, format, ...)                                                                    \
  do {                                                                                             \
    report_cell(table, "%s", title);                                                               \
    for (size_t p = 0; p < BENCH_PASSES; p++) report_cell(table, format, __VA_ARGS__);             \
  } while (0)
#define COUNTS(p) cache_counts_sum(&passes[p].before, &passes[p].after)
  ROW("requests", "%" PRIu64, passes[p].all.requests);
  report_cell(table, "mean ms");
  for (size_t p = 0; p < BENCH_PASSES; p++) ms_cell(table, &passes[p].all, passes[p].all.mean);
  for (uint32_t q = 0; q < BENCH_QUANTILES; q++) {
    report_cell(table, "%s ms", bench_quantiles[q].title);
    for (size_t p = 0; p < BENCH_PASSES; p++) quantile_cell(table, &passes[p].all, q);
  }
  report_cell(table, "max ms");
  for (size_t p = 0; p < BENCH_PASSES; p++) ms_cell(table, &passes[p].all, passes[p].all.max);
  ROW("requests/s", "%.1f", passes[p].requests_per_s);
  if (has_rate) {
    ROW("late: mean/max ms", "%.3f/%.3f", passes[p].late_mean, passes[p].late_max);
    ROW("unserved", "%" PRIu64, passes[p].unserved);
  }
  for (size_t s = 0; s < BENCH_SHAPES; s++) {
    ROW(s == BENCH_NEW ? "requests of new shapes" : "requests of known shapes", "%" PRIu64,
        passes[p].by_shapes[s].requests);
    report_cell(table, "  mean/p50/p99 ms");
    for (size_t p = 0; p < BENCH_PASSES; p++) times_cell(table, &passes[p].by_shapes[s]);
  }
  ROW("RSS before", "%s", report_bytes(passes[p].rss_before, text));
  ROW("RSS after", "%s", report_bytes(passes[p].rss_after, text));
  ROW("RSS at most", "%s", report_bytes(passes[p].rss_peak, text));
  ROW("processors busy", "%.2f", processors(&passes[p]));
  ROW("hits", "%" PRIu64, COUNTS(p).hits);
  ROW("misses", "%" PRIu64, COUNTS(p).misses);
  ROW("waits", "%" PRIu64, COUNTS(p).waits);
  ROW("builds", "%" PRIu64, COUNTS(p).builds);
  ROW("build ms", "%.1f", (double)COUNTS(p).build_ns / 1e6);
  for (uint32_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    report_cell(table, "  %s keys: hits/misses/builds/evictions", lk_kind_name(kind));
    for (size_t p = 0; p < BENCH_PASSES; p++) {
      lk_kind_stats one = cache_counts_of(&passes[p].before, &passes[p].after, kind);
      report_cell(table, "%" PRIu64 "/%" PRIu64 "/%" PRIu64 "/%" PRIu64, one.hits, one.misses,
                  one.builds, one.evictions);
    }
  }
  ROW("cache entries", "%" PRIu64, passes[p].after.entries);
  ROW("cache bytes", "%s", report_bytes(passes[p].after.bytes, text));
  ROW("packed weights", "%s", report_bytes(passes[p].after.weights_bytes, text));
#undef COUNTS
#undef ROW
  return report_table_print(table, 0, error);
}

lk_status bench_passes_print(const bench_args *args, const bench_result *result, lk_error *error) {
  LK_RETURN_NOT_OK(print_passes(result->passes, args->rate > 0, error));
  const bench_pass *last = bench_last_pass(result);
  return last->n_models > 1 ? print_models(last, error) : LK_OK;
}
