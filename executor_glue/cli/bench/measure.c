/* One setting, measured: a number of threads, of callers, and a batch. */
#include "executor_glue/cli/bench/measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "executor_glue/cli/bench/callers.h"
#include "executor_glue/cli/common/interrupt.h"
#include "executor_glue/cli/common/rss.h"
#include "executor_glue/cli/common/shape_text.h"

const bench_quantile bench_quantiles[BENCH_QUANTILES] = {{"p50", "p50", 500},
                                                         {"p90", "p90", 900},
                                                         {"p95", "p95", 950},
                                                         {"p99", "p99", 990},
                                                         {"p99.9", "p99_9", 999}};

/* ---- a model --------------------------------------------------------------------------------- */

lk_status bench_subject_open(const bench_args *args, const bench_setting *setting,
                             bench_subject *out, lk_error *error) {
  model_args model = args->common.model;
  input_args inputs = args->common.inputs;
  if (setting->threads > 0) model.context.threads = setting->threads;
  inputs.batch = setting->batch;
  *out = (bench_subject){.setting = *setting};
  LK_RETURN_NOT_OK(cli_model_open(&model, args->common.path, &out->model, error));
  LK_RETURN_NOT_OK(input_series_create(&out->model, &inputs, &out->series, error));
  return input_series_rows(out->series, &out->rows, error);
}

void bench_subject_close(bench_subject *subject) {
  lk_free(lk_allocator_default(), subject->rows);
  input_series_destroy(subject->series);
  cli_model_close(&subject->model);
  *subject = (bench_subject){0};
}

/* ---- times ----------------------------------------------------------------------------------- */

static int compare_ns(const void *a, const void *b) {
  const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

/* Sorts them. */
static bench_times summarize(uint64_t *times, uint64_t count) {
  bench_times out = {.requests = count};
  uint64_t total = 0;
  if (count == 0) return out;
  for (uint64_t i = 0; i < count; i++) total += times[i];
  qsort(times, count, sizeof *times, compare_ns);
  out.mean = (double)total / (double)count / 1e6;
  for (uint32_t q = 0; q < BENCH_QUANTILES; q++) {
    const uint32_t permille = bench_quantiles[q].permille;
    order_interval ranks;
    out.at[q] = (double)times[order_rank(count, permille) - 1] / 1e6;
    out.has_interval[q] = order_interval_of(count, permille, &ranks);
    if (!out.has_interval[q]) continue;
    out.low[q] = (double)times[ranks.low - 1] / 1e6;
    out.high[q] = (double)times[ranks.high - 1] / 1e6;
  }
  return out;
}

static lk_status throughput(const bench_sample *samples, size_t count, uint32_t callers,
                            double *out, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  struct {
    uint64_t requests, ns;
  } *shares = lk_calloc(allocator, callers, sizeof *shares);
  if (shares == NULL) return lk_fail_memory(error, "counters", callers * sizeof *shares);
  for (size_t i = 0; i < count; i++) {
    shares[samples[i].caller].requests++;
    shares[samples[i].caller].ns += samples[i].ns;
  }
  *out = 0;
  for (uint32_t c = 0; c < callers; c++) {
    if (shares[c].ns > 0) *out += (double)shares[c].requests * 1e9 / (double)shares[c].ns;
  }
  lk_free(allocator, shares);
  return LK_OK;
}

static lk_status summarize_pass(const bench_sample *samples, size_t count, uint32_t callers,
                                bench_pass *out, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  LK_RETURN_NOT_OK(throughput(samples, count, callers, &out->requests_per_s, error));
  uint64_t *times = lk_calloc(allocator, count, sizeof *times);
  if (times == NULL) return lk_fail_memory(error, "times", count * sizeof *times);
  /* New shapes from the front, known ones from the back. */
  uint64_t n_new = 0, n_known = 0;
  for (size_t i = 0; i < count; i++) {
    times[samples[i].is_new ? n_new++ : count - ++n_known] = samples[i].ns;
  }
  out->by_shapes[BENCH_NEW] = summarize(times, n_new);
  out->by_shapes[BENCH_KNOWN] = summarize(times + n_new, n_known);
  out->all = summarize(times, count);
  lk_free(allocator, times);
  return LK_OK;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Memory of the process without what is noted of the requests: a long measurement looks no larger
 * than a short one. */
static uint64_t rss_without(const bench_samples *samples) {
  const uint64_t rss = rss_now(), noted = samples->count * sizeof *samples->items;
  return rss > noted ? rss - noted : 0;
}

static lk_status run_pass(bench_subject *subject, bench_callers *callers, const bench_phase *phase,
                          progress *bar, bench_result *result, bench_pass *out, lk_error *error) {
  bench_samples *samples = &result->samples;
  const size_t before = samples->count;
  uint64_t sent = 0;
  LK_RETURN_NOT_OK(cli_stats(&subject->model, &out->before, error));
  LK_RETURN_NOT_OK(cli_session_stats(&subject->model, &out->session_before, error));
  out->rss_before = rss_without(samples);
  LK_RETURN_NOT_OK(bench_callers_run(callers, phase, bar, samples, &sent, error));
  out->rss_after = rss_without(samples);
  LK_RETURN_NOT_OK(cli_stats(&subject->model, &out->after, error));
  LK_RETURN_NOT_OK(cli_session_stats(&subject->model, &out->session_after, error));
  if (sent == 0) return LK_OK;
  return summarize_pass(samples->items + before, samples->count - before, subject->setting.callers,
                        out, error);
}

static lk_status warm_up(const bench_args *args, bench_callers *callers, progress *bar,
                         uint64_t *sent, lk_error *error) {
  bench_samples none = {0};
  const bench_phase phase = {.end = args->warmup_ns > 0 ? UINT64_MAX : args->warmup_requests,
                             .until_ns =
                                 args->warmup_ns > 0 ? lk_now_ns() + args->warmup_ns : UINT64_MAX};
  return bench_callers_run(callers, &phase, bar, &none, sent, error);
}

static lk_status run_passes(const bench_args *args, bench_subject *subject, bench_callers *callers,
                            progress *bar, bench_result *out, lk_error *error) {
  const uint64_t requests = args->common.inputs.requests;
  const bool timed = args->duration_ns > 0;
  LK_RETURN_NOT_OK(warm_up(args, callers, bar, &out->warmed, error));
  bench_phase phase = {.end = requests,
                       .until_ns = timed ? lk_now_ns() + args->duration_ns : UINT64_MAX,
                       .warmed = out->warmed,
                       .keeps = true};
  LK_RETURN_NOT_OK(run_pass(subject, callers, &phase, bar, out, &out->passes[0], error));
  phase.first = requests;
  phase.end = timed ? requests * UINT32_MAX : requests * BENCH_PASSES;
  LK_RETURN_NOT_OK(run_pass(subject, callers, &phase, bar, out, &out->passes[1], error));
  out->interrupted = interrupt_seen();
  if (out->samples.count > 0) return LK_OK;
  return lk_fail(error, LK_CANCELLED,
                 "failed to measure: it was interrupted before the first request was measured");
}

static lk_status note_shapes(const bench_subject *subject, uint64_t requests, char ***out,
                             lk_error *error) {
  const uint32_t count = input_series_count(subject->series);
  *out = lk_calloc(lk_allocator_default(), requests, sizeof **out);
  if (*out == NULL) return lk_fail_memory(error, "shapes", requests * sizeof **out);
  for (uint64_t r = 0; r < requests; r++) {
    size_t size = 0;
    FILE *stream = open_memstream(&(*out)[r], &size);
    if (stream == NULL) return lk_fail_memory(error, "shapes", requests * sizeof **out);
    lk_status status = shape_text_write(subject->rows + r * count, count, stream, error);
    const bool lost = ferror(stream) != 0;
    if (fclose(stream) != 0 || lost) return lk_fail_memory(error, "shapes", size);
    LK_RETURN_NOT_OK(status);
  }
  return LK_OK;
}

lk_status bench_measure(const bench_args *args, bench_subject *subject, progress *bar,
                        bench_result *out, lk_error *error) {
  const cli_model *model = &subject->model;
  const uint64_t requests = args->common.inputs.requests;
  lk_status status = LK_OK;
  bench_callers *callers = NULL;
  *out = (bench_result){.setting = subject->setting,
                        .cache_mode = cli_cache_mode_text(model),
                        .distinct = input_series_distinct(subject->series)};
  out->setting.threads = model->api->context_threads(model->context);
  if (args->latencies != NULL) LK_TRY(note_shapes(subject, requests, &out->shapes, error));
  const bench_work work = {&subject->model, subject->series, subject->rows, requests};
  LK_TRY(bench_callers_create(&work, subject->setting.callers, &callers, error));
  LK_TRY(run_passes(args, subject, callers, bar, out, error));

cleanup:
  bench_callers_destroy(callers);
  return status;
}

void bench_result_destroy(bench_result *result, uint64_t requests) {
  for (uint64_t r = 0; result->shapes != NULL && r < requests; r++) free(result->shapes[r]);
  lk_free(lk_allocator_default(), result->shapes);
  bench_samples_clear(&result->samples);
  *result = (bench_result){0};
}
