/* What a measurement showed, as tables and as JSON. */
#include "executor_glue/cli/bench/result_report.h"

#include <inttypes.h>

#include "base/names.h"
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

static json_t *pass_json(const bench_pass *pass) {
  json_t *kinds = cache_counts_kinds_json(&pass->before, &pass->after);
  lk_kind_stats sum = cache_counts_sum(&pass->before, &pass->after);
  const lk_session_stats *before = &pass->session_before;
  const lk_session_stats *after = &pass->session_after;
  json_t *object = json_pack(
      "{s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "requests_per_s",
      pass->requests_per_s, "new_shapes", add_times(json_object(), &pass->by_shapes[BENCH_NEW]),
      "known_shapes", add_times(json_object(), &pass->by_shapes[BENCH_KNOWN]), "rss_before",
      lk_json_number(pass->rss_before), "rss_after", lk_json_number(pass->rss_after), "hits",
      lk_json_number(sum.hits), "misses", lk_json_number(sum.misses), "builds",
      lk_json_number(sum.builds), "evictions", lk_json_number(sum.evictions), "run_plan_hits",
      lk_json_number(after->run_plan_hits - before->run_plan_hits), "run_plan_builds",
      lk_json_number(after->run_plan_builds - before->run_plan_builds), "kinds", kinds);
  return add_times(object, &pass->all);
}

json_t *bench_passes_json(const bench_result *result) {
  json_t *list = json_array();
  for (size_t p = 0; p < BENCH_PASSES; p++) {
    (void)json_array_append_new(list, pass_json(&result->passes[p]));
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

static void times_cell(report_table *table, const bench_times *times) {
  if (times->requests == 0) {
    report_cell(table, "-");
    return;
  }
  report_cell(table, "%.3f/%.3f/%.3f", times->mean, times->at[BENCH_P50], times->at[BENCH_P99]);
}

lk_status bench_passes_print(const bench_result *result, lk_error *error) {
  const bench_pass *passes = result->passes;
  char text[REPORT_TEXT_CAPACITY];
  report_table *table = report_table_create("95 % intervals in ()|first pass|later passes");
#define ROW(title, format, ...)                                                                    \
  do {                                                                                             \
    report_cell(table, "%s", title);                                                               \
    for (size_t p = 0; p < BENCH_PASSES; p++) report_cell(table, format, __VA_ARGS__);             \
  } while (0)
  ROW("requests", "%" PRIu64, passes[p].all.requests);
  for (uint32_t q = 0; q < BENCH_QUANTILES; q++) {
    report_cell(table, "%s ms", bench_quantiles[q].title);
    for (size_t p = 0; p < BENCH_PASSES; p++) quantile_cell(table, &passes[p].all, q);
  }
  ROW("requests/s", "%.1f", passes[p].requests_per_s);
  for (size_t s = 0; s < BENCH_SHAPES; s++) {
    ROW(s == BENCH_NEW ? "requests of new shapes" : "requests of known shapes", "%" PRIu64,
        passes[p].by_shapes[s].requests);
    report_cell(table, "  mean/p50/p99 ms");
    for (size_t p = 0; p < BENCH_PASSES; p++) times_cell(table, &passes[p].by_shapes[s]);
  }
  ROW("RSS before", "%s", report_bytes(passes[p].rss_before, text));
  ROW("RSS after", "%s", report_bytes(passes[p].rss_after, text));
  ROW("hits", "%" PRIu64, cache_counts_sum(&passes[p].before, &passes[p].after).hits);
  ROW("misses", "%" PRIu64, cache_counts_sum(&passes[p].before, &passes[p].after).misses);
  ROW("builds", "%" PRIu64, cache_counts_sum(&passes[p].before, &passes[p].after).builds);
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
#undef ROW
  return report_table_print(table, 0, error);
}
