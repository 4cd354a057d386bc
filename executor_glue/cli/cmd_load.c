/* latchkey load: several models under load from several threads. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/status.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cache_counts.h"
#include "executor_glue/cli/common/progress.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/load/args.h"
#include "executor_glue/cli/load/run.h"

typedef struct percentile {
  const char *key;
  uint64_t permille;
} percentile;

static const percentile percentiles[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99_9", 999}};

enum { N_PERCENTILES = sizeof percentiles / sizeof percentiles[0] };

static double processors(const load_result *result) {
  return result->seconds > 0.0 ? result->cpu_seconds / result->seconds : 0.0;
}

static double late_mean_ms(const load_totals *totals) {
  uint64_t count = totals->latency.count;
  return count > 0 ? (double)totals->late_sum_ns / (double)count / 1e6 : 0.0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* null without a request. */
static json_t *latency_json(const histogram *latency) {
  if (latency->count == 0) return json_null();
  json_t *object = json_pack("{s:f, s:f, s:f}", "mean", histogram_mean(latency) / 1e6, "min",
                             (double)latency->min / 1e6, "max", (double)latency->max / 1e6);
  for (size_t i = 0; i < N_PERCENTILES; i++) {
    double ms = (double)histogram_percentile(latency, percentiles[i].permille) / 1e6;
    (void)json_object_set_new(object, percentiles[i].key, json_real(ms));
  }
  return object;
}

static json_t *totals_json(const load_totals *totals, bool has_rate) {
  json_t *object = json_pack("{s:o, s:f, s:o, s:o, s:o}", "requests",
                             lk_json_number(totals->latency.count), "requests_per_s",
                             totals->requests_per_s, "latency_ms", latency_json(&totals->latency),
                             "run_plan_hits", lk_json_number(totals->run_plan_hits),
                             "run_plan_builds", lk_json_number(totals->run_plan_builds));
  json_t *late = has_rate ? json_pack("{s:f, s:f}", "mean", late_mean_ms(totals), "max",
                                      (double)totals->late_max_ns / 1e6)
                          : json_null();
  (void)json_object_set_new(object, "late_ms", late);
  return object;
}

static json_t *models_json(const load_result *result) {
  const load_models *models = result->models;
  json_t *list = json_array();
  for (uint32_t m = 0; m < models->count; m++) {
    const load_model *model = &models->items[m];
    json_t *object = totals_json(&result->totals[m], models->args->rate > 0.0);
    uint64_t shapes = model->series != NULL ? input_series_distinct(model->series) : 0;
    (void)json_object_set_new(object, "name", lk_json_text(model->args->name));
    (void)json_object_set_new(object, "file", lk_json_text(model->args->path));
    (void)json_object_set_new(object, "weight", lk_json_number(model->args->weight));
    (void)json_object_set_new(object, "shapes", lk_json_number(shapes));
    (void)json_array_append_new(list, object);
  }
  return list;
}

static json_t *shares_json(const load_result *result) {
  json_t *list = json_array();
  for (uint32_t t = 0; t < result->models->n_threads; t++) {
    const load_share *share = &result->shares[t];
    (void)json_array_append_new(list,
                                json_pack("{s:o, s:f}", "requests", lk_json_number(share->requests),
                                          "seconds", share->seconds));
  }
  return list;
}

static json_t *failures_json(const load_failures *failures) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < failures->n_kept; i++) {
    (void)json_array_append_new(list, json_pack("{s:o, s:o}", "message",
                                                lk_json_text(failures->messages[i]), "count",
                                                lk_json_number(failures->counts[i])));
  }
  return json_pack("{s:o, s:o}", "count", lk_json_number(failures->count), "messages", list);
}

static json_t *cache_json(const load_result *result) {
  const lk_stats *after = &result->cache_after;
  lk_kind_stats sum = cache_counts_sum(&result->cache_before, after);
  json_t *object = cache_counts_json(&sum);
  (void)json_object_set_new(object, "kinds", cache_counts_kinds_json(&result->cache_before, after));
  (void)json_object_set_new(object, "weights_bytes", lk_json_number(after->weights_bytes));
  return object;
}

static lk_status report_as_json(const load_result *result, lk_error *error) {
  const load_models *models = result->models;
  const load_args *args = models->args;
  const cli_model *root = &models->root;
  json_t *object = json_pack(
      "{s:o, s:i, s:s, s:b, s:o, s:o, s:f, s:o, s:f, s:f, s:f, s:b}", "threads",
      lk_json_number(models->n_threads), "op_threads",
      (int)root->api->context_threads(root->context), "cache_mode", cli_cache_mode_text(root),
      "clones", (int)args->clones, "pool", lk_json_number(models->pool), "seed",
      lk_json_number(args->common.inputs.seed), "warmup_s", (double)args->warmup_ns / 1e9, "rate",
      args->rate > 0.0 ? json_real(args->rate) : json_null(), "seconds", result->seconds, "cpu_s",
      result->cpu_seconds, "processors", processors(result), "interrupted",
      (int)result->interrupted);
  (void)json_object_set_new(object, "models", models_json(result));
  (void)json_object_set_new(object, "total",
                            totals_json(&result->totals[models->count], args->rate > 0.0));
  (void)json_object_set_new(object, "per_thread", shares_json(result));
  (void)json_object_set_new(object, "unserved", lk_json_number(result->unserved));
  (void)json_object_set_new(object, "cache", cache_json(result));
  (void)json_object_set_new(object, "rss_before", lk_json_number(result->rss_before));
  (void)json_object_set_new(object, "rss_after", lk_json_number(result->rss_after));
  (void)json_object_set_new(object, "rss_peak", lk_json_number(result->rss_peak));
  (void)json_object_set_new(object, "errors", failures_json(&result->failures));
  (void)json_object_set_new(object, "mismatches",
                            args->check ? failures_json(&result->mismatches) : json_null());
  return report_json(object, error);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_head(const load_result *result) {
  const load_models *models = result->models;
  const load_args *args = models->args;
  const cli_model *root = &models->root;
  int op_threads = root->api->context_threads(root->context);
  (void)printf("%" PRIu32 " model%s%s, %" PRIu32
               " thread%s, %d thread%s per operator, cache %s, seed %" PRIu64 "\n",
               models->count, report_s(models->count),
               args->clones ? " cloned for each thread" : "", models->n_threads,
               report_s(models->n_threads), op_threads, report_s((uint64_t)op_threads),
               cli_cache_mode_text(root), args->common.inputs.seed);
  const uint64_t requests = result->totals[models->count].latency.count;
  (void)printf("%" PRIu64 " request%s in %.3f s after %.1f s of warm-up%s", requests,
               report_s(requests), result->seconds, (double)args->warmup_ns / 1e9,
               result->interrupted ? " (interrupted)" : "");
  if (args->rate > 0.0) (void)printf(", asked for %g requests/s", args->rate);
  (void)printf("\n\n");
}

static void totals_row(report_table *table, const char *name, const load_totals *totals,
                       bool has_rate) {
  const histogram *latency = &totals->latency;
  report_cell(table, "%s", name);
  report_cell(table, "%" PRIu64, latency->count);
  report_cell(table, "%.1f", totals->requests_per_s);
  if (latency->count > 0) {
    report_cell(table, "%.3f", histogram_mean(latency) / 1e6);
    for (size_t i = 0; i < N_PERCENTILES; i++) {
      report_cell(table, "%.3f",
                  (double)histogram_percentile(latency, percentiles[i].permille) / 1e6);
    }
    report_cell(table, "%.3f", (double)latency->max / 1e6);
  } else {
    for (size_t i = 0; i < N_PERCENTILES + 2; i++) report_cell(table, "-");
  }
  if (has_rate) report_cell(table, "%.3f", late_mean_ms(totals));
}

static lk_status print_models(const load_result *result, lk_error *error) {
  const load_models *models = result->models;
  const bool has_rate = models->args->rate > 0.0;
  report_table *table = report_table_create(
      has_rate ? "latency in ms|>requests|>requests/s|>mean|>p50|>p90|>p99|>p99.9|>max|>waited"
               : "latency in ms|>requests|>requests/s|>mean|>p50|>p90|>p99|>p99.9|>max");
  for (uint32_t m = 0; m < models->count; m++) {
    totals_row(table, models->items[m].args->name, &result->totals[m], has_rate);
  }
  totals_row(table, "total", &result->totals[models->count], has_rate);
  return report_table_print(table, 0, error);
}

static void cache_row(report_table *table, const char *name, const lk_kind_stats *counts) {
  report_cell(table, "%s", name);
  report_cell(table, "%" PRIu64, counts->hits);
  report_cell(table, "%" PRIu64, counts->misses);
  report_cell(table, "%" PRIu64, counts->builds);
  report_cell(table, "%" PRIu64, counts->waits);
  report_cell(table, "%" PRIu64, counts->evictions);
  report_cell(table, "%" PRIu64, counts->entries);
  report_cell(table, "%.1f", (double)counts->build_ns / 1e6);
}

static lk_status print_cache(const load_result *result, lk_error *error) {
  report_table *table =
      report_table_create("cache|>hits|>misses|>builds|>waits|>evictions|>entries|>build ms");
  for (uint32_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    lk_kind_stats one = cache_counts_of(&result->cache_before, &result->cache_after, kind);
    cache_row(table, lk_kind_name(kind), &one);
  }
  lk_kind_stats sum = cache_counts_sum(&result->cache_before, &result->cache_after);
  cache_row(table, "total", &sum);
  return report_table_print(table, 0, error);
}

static void print_failures(const load_failures *failures, const char *what) {
  if (failures->count == 0) return;
  (void)printf("\n%" PRIu64 " request%s %s:\n", failures->count, report_s(failures->count), what);
  uint64_t rest = failures->count;
  for (uint32_t i = 0; i < failures->n_kept; i++) {
    (void)printf("  %" PRIu64 " x %s\n", failures->counts[i], failures->messages[i]);
    rest -= failures->counts[i];
  }
  if (rest > 0) (void)printf("  %" PRIu64 " x other sentences\n", rest);
}

static lk_status report_as_text(const load_result *result, lk_error *error) {
  const load_totals *sum = &result->totals[result->models->count];
  char before[REPORT_TEXT_CAPACITY];
  char after[REPORT_TEXT_CAPACITY];
  char peak[REPORT_TEXT_CAPACITY];
  print_head(result);
  LK_RETURN_NOT_OK(print_models(result, error));
  (void)putchar('\n');
  LK_RETURN_NOT_OK(print_cache(result, error));
  (void)printf("\nrun plans: %" PRIu64 " hit%s, %" PRIu64 " build%s\n", sum->run_plan_hits,
               report_s(sum->run_plan_hits), sum->run_plan_builds, report_s(sum->run_plan_builds));
  (void)printf("RSS: %s before, %s after, %s at most\n", report_bytes(result->rss_before, before),
               report_bytes(result->rss_after, after), report_bytes(result->rss_peak, peak));
  (void)printf("processors busy: %.2f (%.3f s of processor time)\n", processors(result),
               result->cpu_seconds);
  if (result->unserved > 0) {
    (void)printf("%" PRIu64 " request%s due and never begun: the rate is more than these threads "
                 "serve\n",
                 result->unserved, result->unserved == 1 ? " was" : "s were");
  }
  print_failures(&result->failures, "failed");
  print_failures(&result->mismatches, "had another output than alone");
  return LK_OK;
}

/* ---- the work -------------------------------------------------------------------------------- */

/* The report comes first, and is whole: what failed is part of it. */
static lk_status check_failures(const load_result *result, lk_error *error) {
  const load_failures *failures = &result->failures;
  const load_failures *mismatches = &result->mismatches;
  if (failures->count > 0) {
    return lk_fail(error, LK_INTERNAL, "failed to serve %" PRIu64 " request%s, the first: %s",
                   failures->count, report_s(failures->count), failures->messages[0]);
  }
  if (mismatches->count > 0) {
    return lk_fail(error, LK_INTERNAL,
                   "failed to repeat the outputs of %" PRIu64 " request%s, the first: %s",
                   mismatches->count, report_s(mismatches->count), mismatches->messages[0]);
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
  LK_TRY(cli_trace_save(&args->common.model, &models.root, error));
  LK_TRY(args->common.model.json ? report_as_json(&result, error) : report_as_text(&result, error));
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
      .threads = 1, .warmup_ns = LK_SECOND_NS, .within = {.relative = 1e-3, .absolute = 1e-5}};
  const int code = cli_run(&load_argp, argc, argv, &args.common, 32, load);
  for (size_t i = 0; i < args.n_models; i++) lk_free(allocator, args.models[i].name);
  lk_free(allocator, args.models);
  return code;
}
