/* latchkey bench: latency, memory and cache of models over a series of requests, at one setting of
 * engine, threads, callers and batch or at several. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/cli/bench/alone.h"
#include "executor_glue/cli/bench/failure_report.h"
#include "executor_glue/cli/bench/measure.h"
#include "executor_glue/cli/bench/origin.h"
#include "executor_glue/cli/bench/outputs.h"
#include "executor_glue/cli/bench/raw_file.h"
#include "executor_glue/cli/bench/result_report.h"
#include "executor_glue/cli/bench/sweep_report.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/interrupt.h"
#include "executor_glue/cli/profile_report.h"

/* All that is measured: group by group, each of the settings that differ in nothing but the engine.
 */
typedef struct bench_run {
  const bench_args *args;
  bench_result *results; /* [n_settings] */
  uint32_t n_settings;
  uint32_t n_measured; /* whole, or ended by SIGINT with some requests */
  bool interrupted;
  bench_subject *subjects; /* [n_engines], open: the group that was measured last */
  uint32_t n_engines;
  double load_ms; /* of all models of the only setting */
  profile_report profile;
  json_t *report; /* where the numbers come from; NULL when no JSON is written */
} bench_run;

/* ---- measuring ------------------------------------------------------------------------------- */

/* The only model. Apart from the passes, so that no clock runs between the operators there. */
static lk_status run_profiled(bench_subject *subject, uint64_t requests, progress *bar,
                              profile_report *out, lk_error *error) {
  cli_model *model = &subject->models[0].session;
  LK_RETURN_NOT_OK(profile_report_create(model, out, error));
  for (uint64_t r = 0; r < requests; r++) {
    uint32_t count = 0;
    const lk_named_tensor *inputs = bench_subject_inputs(subject, r, &count);
    LK_RETURN_NOT_OK(cli_model_run_profiled(model, inputs, count, out->profile, error));
    progress_set(bar, BENCH_PASSES * requests + r + 1);
  }
  cli_model_release_outputs(model);
  return profile_report_read(model, out, error);
}

/* After the first model is open, since opening one cannot be ended but by a signal that kills. */
static lk_status begin(bench_run *run, lk_error *error) {
  const bench_args *args = run->args;
  if (args->common.model.json || args->latencies != NULL) {
    run->report = json_object();
    LK_RETURN_NOT_OK(bench_origin_add(args, run->report, error));
  }
  return interrupt_begin(error);
}

static lk_status open_group(bench_run *run, uint32_t first, lk_error *error) {
  const bench_args *args = run->args;
  const bench_subject *subject = &run->subjects[0];
  for (uint32_t i = 0; i < run->n_engines; i++) bench_subject_close(&run->subjects[i]);
  for (uint32_t i = 0; i < run->n_engines; i++) {
    const bench_setting setting = bench_setting_at(args, first + i);
    lk_status status = bench_subject_open(args, &setting, &run->subjects[i], error);
    if (status == LK_OK && args->check) status = bench_alone_run(args, &run->subjects[i], error);
    LK_RETURN_NOT_OK(bench_setting_prefix(args, &setting, status, error));
  }
  run->load_ms = 0;
  for (uint32_t m = 0; m < subject->n_models; m++) {
    lk_session_stats stats;
    LK_RETURN_NOT_OK(cli_session_stats(&subject->models[m].session, &stats, error));
    run->load_ms += (double)stats.load_ns / 1e6;
  }
  return LK_OK;
}

static lk_status measure_group(bench_run *run, uint32_t first, progress *bar, lk_error *error) {
  const bench_args *args = run->args;
  bench_result *results = &run->results[first];
  LK_RETURN_NOT_OK(open_group(run, first, error));
  if (first == 0) LK_RETURN_NOT_OK(begin(run, error));
  LK_RETURN_NOT_OK(bench_measure(args, run->subjects, run->n_engines, bar, results, error));
  if (run->n_engines > 1) {
    LK_RETURN_NOT_OK(bench_outputs_compare(args, run->subjects, run->n_engines, results, error));
  }
  if (!args->profile || results[0].interrupted) return LK_OK;
  return run_profiled(run->subjects, args->common.inputs.requests, bar, &run->profile, error);
}

/* The settings that have requests, of which there are others only behind them. */
static uint32_t count_begun(const bench_run *run) {
  uint32_t count = 0;
  while (count < run->n_settings && run->results[count].samples.count > 0) count++;
  return count;
}

static void write_label(const bench_run *run, uint32_t first, char *label, size_t capacity) {
  if (run->n_engines == 1) {
    (void)snprintf(label, capacity, "setting %u of %u, requests", first + 1, run->n_settings);
  } else {
    (void)snprintf(label, capacity, "settings %u to %u of %u, requests", first + 1,
                   first + run->n_engines, run->n_settings);
  }
}

static lk_status measure_all(bench_run *run, lk_error *error) {
  const bench_args *args = run->args;
  const uint64_t steps = args->common.inputs.requests * (BENCH_PASSES + (args->profile ? 1 : 0));
  for (uint32_t i = 0; i < run->n_settings && !run->interrupted; i += run->n_engines) {
    char label[64];
    progress bar;
    write_label(run, i, label, sizeof label);
    progress_begin(&bar, run->n_settings > 1 ? label : "requests",
                   args->duration_ns > 0 ? 0 : steps);
    lk_status status = measure_group(run, i, &bar, error);
    progress_end(&bar);
    if (status == LK_CANCELLED && i > 0) {
      run->interrupted = true;
      return LK_OK;
    }
    LK_RETURN_NOT_OK(status);
    run->n_measured = count_begun(run);
    run->interrupted = run->results[i].interrupted;
  }
  return LK_OK;
}

/* ---- reports --------------------------------------------------------------------------------- */

static json_t *models_json(const bench_models_arg *models) {
  json_t *list = json_array();
  for (size_t m = 0; m < models->count; m++) {
    const bench_model_arg *model = &models->items[m];
    (void)json_array_append_new(
        list, json_pack("{s:o, s:o, s:o}", "name", lk_json_text(model->name), "file",
                        lk_json_text(model->path), "weight", lk_json_number(model->weight)));
  }
  return list;
}

static void add_results(const bench_run *run, json_t *report) {
  const bench_args *args = run->args;
  const bench_result *first = &run->results[0];
  json_t *batch = first->setting.batch > 0 ? json_integer(first->setting.batch) : json_null();
  (void)json_object_set_new(report, "model", lk_json_text(args->models.title));
  (void)json_object_set_new(report, "models", models_json(&args->models));
  (void)json_object_set_new(report, "cache", lk_json_text(first->cache_mode));
  (void)json_object_set_new(report, "requests", lk_json_number(args->common.inputs.requests));
  (void)json_object_set_new(report, "seed", lk_json_number(args->common.inputs.seed));
  (void)json_object_set_new(report, "interrupted", json_boolean(run->interrupted));
  if (run->n_settings > 1) {
    (void)json_object_set_new(report, "settings",
                              bench_sweep_json(args, run->results, run->n_measured));
    json_decref(batch);
    return;
  }
  (void)json_object_set_new(report, "engine", lk_json_text(first->engine));
  (void)json_object_set_new(report, "threads", json_integer(first->setting.threads));
  (void)json_object_set_new(report, "callers", json_integer(first->setting.callers));
  (void)json_object_set_new(report, "batch", batch);
  (void)json_object_set_new(report, "shapes", lk_json_number(first->distinct));
  (void)json_object_set_new(report, "load_ms", json_real(run->load_ms));
  bench_failures_json(args, first, report);
  (void)json_object_set_new(report, "passes", bench_passes_json(args, first));
  if (run->profile.entries != NULL) {
    (void)json_object_set_new(report, "profile", profile_report_json(&run->profile));
  }
}

static void print_outputs(const bench_run *run) {
  char text[BENCH_SETTING_CAPACITY];
  uint32_t n_differing = 0;
  for (uint32_t i = 0; i < run->n_measured; i++) {
    const bench_result *result = &run->results[i];
    if (result->difference.status == LK_OK) continue;
    n_differing++;
    report_line("outputs differ: %s: %s", bench_setting_text(&result->setting, text),
                result->difference.message);
  }
  if (n_differing == 0 && run->n_measured > 1) {
    report_line("outputs of the first request%s agree",
                run->args->models.count > 1 ? " of each model" : "");
  }
}

/* How requests are sent, where it is not as by default. */
static const char *manner_text(const bench_args *args, char *buffer, size_t capacity) {
  char rate[64] = "";
  if (args->rate > 0) (void)snprintf(rate, sizeof rate, ", asked for %g requests/s", args->rate);
  (void)snprintf(buffer, capacity, "%s%s", args->clones ? ", cloned for each caller" : "", rate);
  return buffer;
}

static lk_status report_as_text(const bench_run *run, lk_error *error) {
  const bench_args *args = run->args;
  const bench_result *first = &run->results[0];
  const input_args *inputs = &args->common.inputs;
  char text[BENCH_SETTING_CAPACITY], manner[96];
  (void)manner_text(args, manner, sizeof manner);
  if (run->n_settings > 1) {
    report_line("%s: %" PRIu64 " request%s, seed %" PRIu64 ", cache %s%s, %u settings",
                args->models.title, inputs->requests, report_s(inputs->requests), inputs->seed,
                first->cache_mode, manner, run->n_settings);
    LK_RETURN_NOT_OK(bench_sweep_print(args, run->results, run->n_measured, error));
    if (run->n_engines > 1) print_outputs(run);
  } else {
    report_line("%s: %" PRIu64 " request%s, %" PRIu64 " shape%s, seed %" PRIu64
                ", %s%s, cache %s, opened in %.1f ms",
                args->models.title, inputs->requests, report_s(inputs->requests), first->distinct,
                report_s(first->distinct), inputs->seed, bench_setting_text(&first->setting, text),
                manner, first->cache_mode, run->load_ms);
    LK_RETURN_NOT_OK(bench_passes_print(args, first, error));
    if (run->profile.entries != NULL) {
      LK_RETURN_NOT_OK(profile_report_print(&run->profile, error));
    }
  }
  for (uint32_t i = 0; i < run->n_measured; i++) bench_failures_print(args, &run->results[i]);
  if (run->interrupted) report_line("interrupted: only a part was measured");
  if (args->latencies != NULL) report_line("latencies: %s", args->latencies);
  return LK_OK;
}

/* Also after a request has failed: what was measured before is told there, with what failed. */
static lk_status write_latencies(const bench_run *run, lk_error *error) {
  const uint32_t count = count_begun(run);
  if (run->args->latencies == NULL || count == 0) return LK_OK;
  return bench_raw_write(run->args, run->results, count, run->report, error);
}

/* The report comes first, and is whole: that outputs differ is part of it. */
static lk_status check_outputs(const bench_run *run, lk_error *error) {
  const bench_result *first = NULL;
  char text[BENCH_SETTING_CAPACITY];
  uint32_t n_differing = 0;
  for (uint32_t i = run->n_measured; i-- > 0;) {
    if (run->results[i].difference.status == LK_OK) continue;
    first = &run->results[i];
    n_differing++;
  }
  if (first == NULL) return LK_OK;
  return lk_fail(error, LK_INTERNAL,
                 "failed to compare engines: the outputs of %u setting%s differ from those of %s, "
                 "the first: %s: %s; --rtol and --atol say how close they must be",
                 n_differing, report_s(n_differing), run->args->engines.names[0],
                 bench_setting_text(&first->setting, text), first->difference.message);
}

static lk_status bench(void *arguments, lk_error *error) {
  const bench_args *args = arguments;
  const lk_allocator *allocator = lk_allocator_default();
  lk_status status = LK_OK;
  bench_run run = {
      .args = args, .n_settings = bench_args_settings(args), .n_engines = args->engines.count};
  run.results = lk_calloc(allocator, run.n_settings, sizeof *run.results);
  run.subjects = lk_calloc(allocator, run.n_engines, sizeof *run.subjects);
  if (run.results == NULL || run.subjects == NULL) {
    LK_TRY(lk_fail_memory(error, "results", run.n_settings * sizeof *run.results));
  }
  status = measure_all(&run, error);
  interrupt_end();
  if (run.report != NULL && run.n_measured > 0) add_results(&run, run.report);
  if (status != LK_OK) {
    lk_error lost;
    if (write_latencies(&run, &lost) != LK_OK) (void)cli_complain("latchkey bench", &lost);
    goto cleanup;
  }
  LK_TRY(write_latencies(&run, error));
  LK_TRY(cli_trace_save(&args->common.model, &run.subjects[0].root, error));
  if (args->common.model.json) {
    status = report_json(run.report, error);
    run.report = NULL;
    LK_TRY(status);
  } else {
    LK_TRY(report_as_text(&run, error));
  }
  LK_TRY(bench_failures_check(args, run.results, run.n_measured, error));
  LK_TRY(check_outputs(&run, error));

cleanup:
  json_decref(run.report);
  if (run.subjects != NULL) profile_report_destroy(&run.subjects[0].root, &run.profile);
  for (uint32_t i = 0; run.subjects != NULL && i < run.n_engines; i++) {
    bench_subject_close(&run.subjects[i]);
  }
  lk_free(allocator, run.subjects);
  for (uint32_t i = 0; run.results != NULL && i < run.n_settings; i++) {
    bench_result_destroy(&run.results[i], args->common.inputs.requests);
  }
  lk_free(allocator, run.results);
  return status;
}

int cli_cmd_bench(int argc, char **argv) {
  bench_args args;
  bench_args_create(&args);
  const int code = cli_run(&bench_argp, argc, argv, &args.common, 100, bench);
  bench_args_destroy(&args);
  return code;
}
