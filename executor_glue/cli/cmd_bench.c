/* latchkey bench: latency, memory and cache of a model over a series of shapes, twice. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/status.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cache_counts.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/inputs.h"
#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/options.h"
#include "executor_glue/cli/common/progress.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/common/rss.h"
#include "executor_glue/cli/profile_report.h"

enum { N_PASSES = 2, KEY_PROFILE = 0x600 };

typedef struct bench_args {
  cli_args common;
  bool profile;
} bench_args;

static const struct argp_option options[] = {
    {"profile", KEY_PROFILE, NULL, 0,
     "Run all requests once more and show what each operator took, by the most expensive, beside "
     "what this machine can do",
     3},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  bench_args *args = state->input;
  if (key != KEY_PROFILE) return cli_parse_model(key, arg, state);
  args->profile = true;
  return 0;
}

/* How long some requests took. */
typedef struct bench_times {
  uint64_t requests;
  double mean_ms, p50_ms, p90_ms, p99_ms; /* 0 without requests */
} bench_times;

/* By the shapes of a request: no request before it had them, or one had. */
enum { SHAPES_NEW, SHAPES_KNOWN, N_SHAPES };

/* What one pass over all requests showed. */
typedef struct bench_pass {
  bench_times all, by_shapes[N_SHAPES];
  uint64_t rss_before, rss_after;
  lk_stats before, after;
  lk_session_stats session_before, session_after;
} bench_pass;

static const struct argp_child children[] = {
    {&traced_model_argp, 0, "Library:", 10}, {&series_argp, 0, "Inputs:", 1}, {0}};
static const char doc[] = "Runs one seeded sequence of shapes twice. Shows latency, throughput, "
                          "memory and what the cache did in each pass.\v"
                          "Without a range in --shape all requests have one shape. Only the run is "
                          "timed: inputs are made before. A request whose shapes no request before "
                          "it had counts as new, also in its time.\n\n"
                          "Example:\n"
                          "  latchkey bench rec.onnx --shape 'x=1x3x48x{32..320}' --requests 400";

static const struct argp command = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL",
    .doc = doc,
    .children = children,
};

static int compare_ns(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a;
  uint64_t right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

/* Nearest rank: the smallest time that at least `percent` of the requests do not exceed. */
static double percentile_ms(const uint64_t *sorted, uint64_t count, uint64_t percent) {
  uint64_t rank = (count * percent + 99) / 100;
  return (double)sorted[rank > 0 ? rank - 1 : 0] / 1e6;
}

/* Sorts them. */
static bench_times summarize(uint64_t *times, uint64_t count) {
  uint64_t total = 0;
  if (count == 0) return (bench_times){0};
  for (uint64_t i = 0; i < count; i++) total += times[i];
  qsort(times, count, sizeof *times, compare_ns);
  return (bench_times){.requests = count,
                       .mean_ms = (double)total / (double)count / 1e6,
                       .p50_ms = percentile_ms(times, count, 50),
                       .p90_ms = percentile_ms(times, count, 90),
                       .p99_ms = percentile_ms(times, count, 99)};
}

static double per_second(const bench_times *times) {
  return times->mean_ms > 0 ? 1e3 / times->mean_ms : 0.0;
}

/* `times` [requests]: new shapes from the front, known ones from the back. */
static lk_status run_pass(cli_model *model, input_series *series, uint64_t requests,
                          uint64_t *times, progress *bar, uint64_t pass, bench_pass *out,
                          lk_error *error) {
  LK_RETURN_NOT_OK(cli_stats(model, &out->before, error));
  LK_RETURN_NOT_OK(cli_session_stats(model, &out->session_before, error));
  out->rss_before = rss_now();
  uint64_t n_new = 0, n_known = 0;
  for (uint64_t r = 0; r < requests; r++) {
    const lk_named_tensor *inputs = input_series_get(series, r);
    const bool is_new = pass == 0 && input_series_is_new(series, r);
    const uint64_t begin = lk_now_ns();
    LK_RETURN_NOT_OK(cli_model_run(model, inputs, input_series_count(series), error));
    times[is_new ? n_new++ : requests - ++n_known] = lk_now_ns() - begin;
    progress_set(bar, pass * requests + r + 1);
  }
  cli_model_release_outputs(model);
  out->rss_after = rss_now();
  LK_RETURN_NOT_OK(cli_stats(model, &out->after, error));
  LK_RETURN_NOT_OK(cli_session_stats(model, &out->session_after, error));
  out->by_shapes[SHAPES_NEW] = summarize(times, n_new);
  out->by_shapes[SHAPES_KNOWN] = summarize(times + n_new, n_known);
  out->all = summarize(times, requests);
  return LK_OK;
}

/* Apart from the passes, so that no clock runs between the operators there. */
static lk_status run_profiled(cli_model *model, input_series *series, uint64_t requests,
                              progress *bar, profile_report *out, lk_error *error) {
  LK_RETURN_NOT_OK(profile_report_create(model, out, error));
  for (uint64_t r = 0; r < requests; r++) {
    LK_RETURN_NOT_OK(cli_model_run_profiled(model, input_series_get(series, r),
                                            input_series_count(series), out->profile, error));
    progress_set(bar, N_PASSES * requests + r + 1);
  }
  cli_model_release_outputs(model);
  return profile_report_read(model, out, error);
}

/* Times are null where there is no request. */
static json_t *times_json(const bench_times *times) {
  if (times->requests == 0) {
    return json_pack("{s:i, s:n, s:n, s:n, s:n}", "requests", 0, "mean_ms", "p50_ms", "p90_ms",
                     "p99_ms");
  }
  return json_pack("{s:o, s:f, s:f, s:f, s:f}", "requests", lk_json_number(times->requests),
                   "mean_ms", times->mean_ms, "p50_ms", times->p50_ms, "p90_ms", times->p90_ms,
                   "p99_ms", times->p99_ms);
}

static json_t *pass_json(const bench_pass *pass) {
  json_t *kinds = cache_counts_kinds_json(&pass->before, &pass->after);
  lk_kind_stats sum = cache_counts_sum(&pass->before, &pass->after);
  const lk_session_stats *before = &pass->session_before;
  const lk_session_stats *after = &pass->session_after;
  return json_pack(
      "{s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "p50_ms",
      pass->all.p50_ms, "p90_ms", pass->all.p90_ms, "p99_ms", pass->all.p99_ms, "requests_per_s",
      per_second(&pass->all), "new_shapes", times_json(&pass->by_shapes[SHAPES_NEW]),
      "known_shapes", times_json(&pass->by_shapes[SHAPES_KNOWN]), "rss_before",
      lk_json_number(pass->rss_before), "rss_after", lk_json_number(pass->rss_after), "hits",
      lk_json_number(sum.hits), "misses", lk_json_number(sum.misses), "builds",
      lk_json_number(sum.builds), "evictions", lk_json_number(sum.evictions), "run_plan_hits",
      lk_json_number(after->run_plan_hits - before->run_plan_hits), "run_plan_builds",
      lk_json_number(after->run_plan_builds - before->run_plan_builds), "kinds", kinds);
}

static void times_cell(report_table *table, const bench_times *times) {
  if (times->requests == 0) {
    report_cell(table, "-");
    return;
  }
  report_cell(table, "%.3f/%.3f/%.3f", times->mean_ms, times->p50_ms, times->p99_ms);
}

static lk_status print_passes(const bench_pass *passes, lk_error *error) {
  char text[REPORT_TEXT_CAPACITY];
  report_table *table = report_table_create("|>first pass|>second pass");
#define ROW(title, format, ...)                                                                    \
  do {                                                                                             \
    report_cell(table, "%s", title);                                                               \
    for (size_t p = 0; p < N_PASSES; p++) report_cell(table, format, __VA_ARGS__);                 \
  } while (0)
  ROW("p50 ms", "%.3f", passes[p].all.p50_ms);
  ROW("p90 ms", "%.3f", passes[p].all.p90_ms);
  ROW("p99 ms", "%.3f", passes[p].all.p99_ms);
  ROW("requests/s", "%.1f", per_second(&passes[p].all));
  for (size_t s = 0; s < N_SHAPES; s++) {
    ROW(s == SHAPES_NEW ? "requests of new shapes" : "requests of known shapes", "%" PRIu64,
        passes[p].by_shapes[s].requests);
    report_cell(table, "  mean/p50/p99 ms");
    for (size_t p = 0; p < N_PASSES; p++) times_cell(table, &passes[p].by_shapes[s]);
  }
  ROW("RSS before", "%s", report_bytes(passes[p].rss_before, text));
  ROW("RSS after", "%s", report_bytes(passes[p].rss_after, text));
  ROW("hits", "%" PRIu64, cache_counts_sum(&passes[p].before, &passes[p].after).hits);
  ROW("misses", "%" PRIu64, cache_counts_sum(&passes[p].before, &passes[p].after).misses);
  ROW("builds", "%" PRIu64, cache_counts_sum(&passes[p].before, &passes[p].after).builds);
  for (uint32_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    report_cell(table, "  %s keys: hits/misses/builds/evictions", lk_kind_name(kind));
    for (size_t p = 0; p < N_PASSES; p++) {
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

/* `profile`: NULL, or shown behind the passes. */
static lk_status report(const cli_args *args, const cli_model *model, input_series *series,
                        const bench_pass *passes, const profile_report *profile, lk_error *error) {
  const lk_session_stats *session = &passes[N_PASSES - 1].session_after;
  const char *mode = cli_cache_mode_text(model);
  int threads = model->api->context_threads(model->context);
  if (args->model.json) {
    json_t *list = json_array();
    for (size_t p = 0; p < N_PASSES; p++) (void)json_array_append_new(list, pass_json(&passes[p]));
    json_t *root = json_pack(
        "{s:o, s:i, s:s, s:o, s:o, s:o, s:f, s:o}", "model", lk_json_text(args->path), "threads",
        threads, "cache", mode, "requests", lk_json_number(args->inputs.requests), "shapes",
        lk_json_number(input_series_distinct(series)), "seed", lk_json_number(args->inputs.seed),
        "load_ms", (double)session->load_ns / 1e6, "passes", list);
    if (profile != NULL) (void)json_object_set_new(root, "profile", profile_report_json(profile));
    return report_json(root, error);
  }
  report_line("%s: %" PRIu64 " requests, %" PRIu64 " shapes, seed %" PRIu64
              ", %d thread%s, cache %s, opened in %.1f ms",
              args->path, args->inputs.requests, input_series_distinct(series), args->inputs.seed,
              threads, threads == 1 ? "" : "s", mode, (double)session->load_ns / 1e6);
  LK_RETURN_NOT_OK(print_passes(passes, error));
  return profile != NULL ? profile_report_print(profile, error) : LK_OK;
}

static lk_status bench(void *arguments, lk_error *error) {
  const bench_args *given = arguments;
  const cli_args *args = &given->common;
  lk_status status = LK_OK;
  const lk_allocator *allocator = lk_allocator_default();
  uint64_t requests = args->inputs.requests;
  cli_model model = {0};
  input_series *series = NULL;
  uint64_t *times = NULL;
  bench_pass passes[N_PASSES];
  profile_report profile = {0};
  progress bar;
  progress_begin(&bar, "requests", requests * (N_PASSES + (given->profile ? 1 : 0)));

  LK_TRY(cli_model_open(&args->model, args->path, &model, error));
  LK_TRY(input_series_create(&model, &args->inputs, &series, error));
  times = lk_calloc(allocator, requests, sizeof *times);
  if (times == NULL) LK_TRY(lk_fail_memory(error, "times", requests * sizeof *times));
  for (uint64_t p = 0; p < N_PASSES; p++) {
    LK_TRY(run_pass(&model, series, requests, times, &bar, p, &passes[p], error));
  }
  if (given->profile) LK_TRY(run_profiled(&model, series, requests, &bar, &profile, error));
  progress_end(&bar);
  LK_TRY(cli_trace_save(&args->model, &model, error));
  LK_TRY(report(args, &model, series, passes, given->profile ? &profile : NULL, error));

cleanup:
  progress_end(&bar);
  profile_report_destroy(&model, &profile);
  lk_free(allocator, times);
  input_series_destroy(series);
  cli_model_close(&model);
  return status;
}

int cli_cmd_bench(int argc, char **argv) {
  bench_args args = {0};
  return cli_run(&command, argc, argv, &args.common, 100, bench);
}
