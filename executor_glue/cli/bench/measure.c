/* Settings, measured: one by itself, or several by turns. */
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

/* Of a pass, or of --duration, where several are measured. The first request of a turn finds
 * another one's code and data in the processor's caches, so a turn has some more. */
enum { TURNS = 8, FEWEST_OF_A_TURN = 8 };

/* ---- a model --------------------------------------------------------------------------------- */

lk_status bench_subject_open(const bench_args *args, const bench_setting *setting,
                             bench_subject *out, lk_error *error) {
  model_args model = args->common.model;
  input_args inputs = args->common.inputs;
  if (setting->engine != NULL) model.context.engine = setting->engine;
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

/* ---- a run of the passes --------------------------------------------------------------------- */

/* How far a subject has got. */
typedef struct bench_course {
  bench_subject *subject;
  bench_result *result;
  bench_work work;
  bench_callers *callers;
  uint64_t next;     /* request, as phases number them */
  uint32_t n_begun;  /* passes */
  size_t before;     /* samples before the pass that was begun last */
  uint64_t spent_ns; /* of --duration */
} bench_course;

/* Those that are measured by turns. */
typedef struct bench_group {
  const bench_args *args;
  progress *bar;
  bench_course *items; /* [count] */
  uint32_t count;
} bench_group;

/* Memory of the process without what is noted of the requests: a long measurement looks no larger
 * than a short one. */
static uint64_t rss_without_samples(const bench_group *group) {
  const uint64_t rss = rss_now();
  uint64_t noted = 0;
  for (uint32_t i = 0; i < group->count; i++) {
    const bench_samples *samples = &group->items[i].result->samples;
    noted += samples->count * sizeof *samples->items;
  }
  return rss > noted ? rss - noted : 0;
}

static lk_status begin_pass(const bench_group *group, bench_course *one, lk_error *error) {
  const cli_model *model = &one->subject->model;
  bench_pass *pass = &one->result->passes[one->n_begun++];
  one->before = one->result->samples.count;
  LK_RETURN_NOT_OK(cli_stats(model, &pass->before, error));
  LK_RETURN_NOT_OK(cli_session_stats(model, &pass->session_before, error));
  pass->rss_before = rss_without_samples(group);
  return LK_OK;
}

static lk_status end_pass(const bench_group *group, bench_course *one, lk_error *error) {
  const cli_model *model = &one->subject->model;
  const bench_samples *samples = &one->result->samples;
  bench_pass *pass = &one->result->passes[one->n_begun - 1];
  pass->rss_after = rss_without_samples(group);
  LK_RETURN_NOT_OK(cli_stats(model, &pass->after, error));
  LK_RETURN_NOT_OK(cli_session_stats(model, &pass->session_after, error));
  if (samples->count == one->before) return LK_OK;
  return bench_summarize(samples->items + one->before, samples->count - one->before,
                         one->subject->setting.callers, pass, error);
}

/* The number behind the last request of the pass that was begun last. */
static uint64_t end_of_pass(const bench_group *group, const bench_course *one) {
  const uint64_t requests = group->args->common.inputs.requests;
  if (one->n_begun == 1) return requests;
  return group->args->duration_ns > 0 ? requests * UINT32_MAX : requests * BENCH_PASSES;
}

/* Requests up to number `end`, while it is not `until_ns`, with the passes that they begin. */
static lk_status run_part(const bench_group *group, bench_course *one, uint64_t end,
                          uint64_t until_ns, lk_error *error) {
  uint64_t sent = 0;
  while (one->next < end && lk_now_ns() < until_ns && !interrupt_seen()) {
    if (one->next == end_of_pass(group, one)) {
      LK_RETURN_NOT_OK(end_pass(group, one, error));
      LK_RETURN_NOT_OK(begin_pass(group, one, error));
    }
    const uint64_t last = end_of_pass(group, one);
    const bench_phase phase = {.first = one->next,
                               .end = last < end ? last : end,
                               .until_ns = until_ns,
                               .warmed = one->result->warmed,
                               .keeps = true};
    LK_RETURN_NOT_OK(
        bench_callers_run(one->callers, &phase, group->bar, &one->result->samples, &sent, error));
    one->next += sent;
  }
  return LK_OK;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static uint64_t divide_up(uint64_t number, uint64_t by) {
  return number / by + (number % by != 0);
}

static bool is_done(const bench_group *group, const bench_course *one) {
  const uint64_t duration = group->args->duration_ns;
  if (interrupt_seen()) return true;
  if (duration > 0) return one->spent_ns >= duration;
  return one->next >= group->args->common.inputs.requests * BENCH_PASSES;
}

/* The next part of one of several, or all of the only one. */
static lk_status take_turn(const bench_group *group, bench_course *one, lk_error *error) {
  const uint64_t requests = group->args->common.inputs.requests;
  const uint64_t duration = group->args->duration_ns;
  const uint64_t turns = group->count > 1 ? TURNS : 1;
  if (duration == 0) {
    const uint64_t left = requests * BENCH_PASSES - one->next;
    uint64_t some = divide_up(requests, turns);
    if (some < FEWEST_OF_A_TURN) some = FEWEST_OF_A_TURN;
    if (turns == 1 || some > left) some = left;
    return run_part(group, one, one->next + some, UINT64_MAX, error);
  }
  const uint64_t begin = lk_now_ns(), left = duration - one->spent_ns;
  const uint64_t some = divide_up(duration, turns);
  lk_status status =
      run_part(group, one, requests * UINT32_MAX, begin + (some < left ? some : left), error);
  one->spent_ns += lk_now_ns() - begin;
  return status;
}

/* Each second turn begins with the last one: what slows down steadily is no advantage of the first
 * one. */
static lk_status run_turns(const bench_group *group, lk_error *error) {
  uint32_t n_left = group->count;
  for (uint32_t turn = 0; n_left > 0; turn++) {
    n_left = 0;
    for (uint32_t i = 0; i < group->count; i++) {
      bench_course *one = &group->items[turn % 2 == 0 ? i : group->count - 1 - i];
      if (is_done(group, one)) continue;
      lk_status status = take_turn(group, one, error);
      LK_RETURN_NOT_OK(bench_setting_prefix(group->args, &one->subject->setting, status, error));
      n_left += !is_done(group, one);
    }
  }
  return LK_OK;
}

/* ---- from beginning to end ------------------------------------------------------------------- */

static lk_status warm_up(const bench_group *group, bench_course *one, lk_error *error) {
  const bench_args *args = group->args;
  bench_samples none = {0};
  const bench_phase phase = {.end = args->warmup_ns > 0 ? UINT64_MAX : args->warmup_requests,
                             .until_ns =
                                 args->warmup_ns > 0 ? lk_now_ns() + args->warmup_ns : UINT64_MAX};
  return bench_callers_run(one->callers, &phase, group->bar, &none, &one->result->warmed, error);
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

/* With its callers, and warmed up. */
static lk_status begin_course(const bench_group *group, bench_subject *subject,
                              bench_result *result, bench_course *out, lk_error *error) {
  const cli_model *model = &subject->model;
  const uint64_t requests = group->args->common.inputs.requests;
  *result = (bench_result){.setting = subject->setting,
                           .cache_mode = cli_cache_mode_text(model),
                           .distinct = input_series_distinct(subject->series)};
  result->setting.threads = model->api->context_threads(model->context);
  (void)snprintf(result->engine, sizeof result->engine, "%s",
                 model->api->engine_chosen(model->context));
  *out = (bench_course){.subject = subject,
                        .result = result,
                        .work = {&subject->model, subject->series, subject->rows, requests}};
  if (group->args->latencies != NULL) {
    LK_RETURN_NOT_OK(note_shapes(subject, requests, &result->shapes, error));
  }
  LK_RETURN_NOT_OK(
      bench_callers_create(&out->work, subject->setting.callers, &out->callers, error));
  return warm_up(group, out, error);
}

/* Also of the passes that nothing was sent in, so that what the cache has is told. */
static lk_status end_course(const bench_group *group, bench_course *one, lk_error *error) {
  LK_RETURN_NOT_OK(end_pass(group, one, error));
  while (one->n_begun < BENCH_PASSES) {
    LK_RETURN_NOT_OK(begin_pass(group, one, error));
    LK_RETURN_NOT_OK(end_pass(group, one, error));
  }
  one->result->interrupted = interrupt_seen();
  return LK_OK;
}

lk_status bench_measure(const bench_args *args, bench_subject *subjects, uint32_t count,
                        progress *bar, bench_result *results, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  lk_status status = LK_OK;
  bench_group group = {.args = args, .bar = bar};
  group.items = lk_calloc(allocator, count, sizeof *group.items);
  if (group.items == NULL) return lk_fail_memory(error, "courses", count * sizeof *group.items);
  for (; group.count < count; group.count++) {
    const uint32_t i = group.count;
    status = begin_course(&group, &subjects[i], &results[i], &group.items[i], error);
    LK_TRY(bench_setting_prefix(args, &subjects[i].setting, status, error));
  }
  for (uint32_t i = 0; i < count; i++) LK_TRY(begin_pass(&group, &group.items[i], error));
  LK_TRY(run_turns(&group, error));
  for (uint32_t i = 0; i < count; i++) LK_TRY(end_course(&group, &group.items[i], error));
  if (results[0].samples.count == 0) {
    LK_TRY(lk_fail(error, LK_CANCELLED,
                   "failed to measure: it was interrupted before the first request was measured"));
  }

cleanup:
  for (uint32_t i = 0; i < count; i++) bench_callers_destroy(group.items[i].callers);
  lk_free(allocator, group.items);
  return status;
}

void bench_result_destroy(bench_result *result, uint64_t requests) {
  for (uint64_t r = 0; result->shapes != NULL && r < requests; r++) free(result->shapes[r]);
  lk_free(lk_allocator_default(), result->shapes);
  bench_samples_clear(&result->samples);
  *result = (bench_result){0};
}
