/* Settings, measured: one by itself, or several by turns. */
#include "executor_glue/cli/bench/measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "executor_glue/cli/bench/callers.h"
#include "executor_glue/cli/common/interrupt.h"
#include "executor_glue/cli/common/rss.h"
#include "executor_glue/cli/common/shape_text.h"

/* Of a pass, or of --duration, where several are measured. The first request of a turn finds
 * another one's code and data in the processor's caches, so a turn has some more. */
enum { TURNS = 8, FEWEST_OF_A_TURN = 8 };

/* ---- a run of the passes --------------------------------------------------------------------- */

/* How far a subject has got. */
typedef struct bench_course {
  bench_subject *subject;
  bench_result *result;
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
static uint64_t without_samples(const bench_group *group, uint64_t rss) {
  uint64_t noted = 0;
  for (uint32_t i = 0; i < group->count; i++) {
    const bench_samples *samples = &group->items[i].result->samples;
    noted += samples->count * sizeof *samples->items;
  }
  return rss > noted ? rss - noted : 0;
}

/* What the sessions of each model did until now is taken away at the begin of a pass, and added at
 * its end. */
static lk_status add_plans(const bench_course *one, bench_pass *pass, bool ends, lk_error *error) {
  for (uint32_t m = 0; m < one->subject->n_models; m++) {
    bench_plans *sum = &pass->models[m].plans, now;
    LK_RETURN_NOT_OK(bench_callers_plans(one->callers, m, &now, error));
    sum->hits += ends ? now.hits : 0 - now.hits;
    sum->builds += ends ? now.builds : 0 - now.builds;
  }
  return LK_OK;
}

static lk_status begin_pass(const bench_group *group, bench_course *one, lk_error *error) {
  const bench_subject *subject = one->subject;
  bench_pass *pass = &one->result->passes[one->n_begun++];
  one->before = one->result->samples.count;
  pass->models = lk_calloc(lk_allocator_default(), subject->n_models, sizeof *pass->models);
  if (pass->models == NULL) {
    return lk_fail_memory(error, "counters", subject->n_models * sizeof *pass->models);
  }
  pass->n_models = subject->n_models;
  for (uint32_t m = 0; m < subject->n_models; m++) {
    pass->models[m].name = subject->models[m].arg->name;
    pass->models[m].distinct = bench_model_distinct(&subject->models[m]);
  }
  LK_RETURN_NOT_OK(cli_stats(&subject->root, &pass->before, error));
  LK_RETURN_NOT_OK(add_plans(one, pass, false, error));
  pass->rss_before = without_samples(group, rss_now());
  pass->rss_peak = pass->rss_before;
  return LK_OK;
}

static lk_status end_pass(const bench_group *group, bench_course *one, lk_error *error) {
  const bench_samples *samples = &one->result->samples;
  bench_pass *pass = &one->result->passes[one->n_begun - 1];
  pass->rss_after = without_samples(group, rss_now());
  if (pass->rss_peak < pass->rss_after) pass->rss_peak = pass->rss_after;
  LK_RETURN_NOT_OK(cli_stats(&one->subject->root, &pass->after, error));
  LK_RETURN_NOT_OK(add_plans(one, pass, true, error));
  if (samples->count == one->before) return LK_OK;
  return bench_summarize(one->subject, group->args->rate, samples->items + one->before,
                         samples->count - one->before, pass, error);
}

/* The number behind the last request of the pass that was begun last. */
static uint64_t end_of_pass(const bench_group *group, const bench_course *one) {
  const uint64_t requests = group->args->common.inputs.requests;
  if (one->n_begun == 1) return requests;
  return group->args->duration_ns > 0 ? requests * UINT32_MAX : requests * BENCH_PASSES;
}

static lk_status run_phase(const bench_group *group, bench_course *one, const bench_phase *phase,
                           lk_error *error) {
  bench_pass *pass = &one->result->passes[one->n_begun - 1];
  bench_phase_end end;
  LK_RETURN_NOT_OK(
      bench_callers_run(one->callers, phase, group->bar, &one->result->samples, &end, error));
  one->next += end.sent;
  pass->elapsed_ns += end.elapsed_ns;
  pass->cpu_ns += end.cpu_ns;
  const uint64_t peak = without_samples(group, end.rss_peak);
  if (peak > pass->rss_peak) pass->rss_peak = peak;
  return LK_OK;
}

/* Requests up to number `end`, while it is not `until_ns`, with the passes that they begin. The
 * rate goes on through these, so that one that stalls delays the next. */
static lk_status run_part(const bench_group *group, bench_course *one, uint64_t end,
                          uint64_t until_ns, lk_error *error) {
  const bench_pace pace = bench_pace_begin(group->args->rate, one->next, until_ns);
  while (one->next < end && bench_pace_allows(&pace, one->next) && !interrupt_seen()) {
    if (one->next == end_of_pass(group, one)) {
      LK_RETURN_NOT_OK(end_pass(group, one, error));
      LK_RETURN_NOT_OK(begin_pass(group, one, error));
    }
    const uint64_t last = end_of_pass(group, one);
    const bench_phase phase = {.first = one->next,
                               .end = last < end ? last : end,
                               .pace = pace,
                               .warmed = one->result->warmed,
                               .keeps = true};
    LK_RETURN_NOT_OK(run_phase(group, one, &phase, error));
  }
  const uint64_t due = bench_pace_count_due(&pace, end), sent = one->next - pace.first;
  if (due > sent) one->result->passes[one->n_begun - 1].unserved += due - sent;
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
  uint64_t some = divide_up(duration, turns);
  if (some > left) some = left;
  lk_status status = run_part(group, one, requests * UINT32_MAX, begin + some, error);
  /* With a rate it may end before: nothing more is due. */
  const uint64_t spent = lk_now_ns() - begin;
  one->spent_ns += spent > some ? spent : some;
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
  const bool timed = args->warmup_ns > 0;
  const uint64_t until_ns = timed ? lk_now_ns() + args->warmup_ns : UINT64_MAX;
  bench_samples none = {0};
  bench_phase_end end;
  const bench_phase phase = {.end = timed ? UINT64_MAX : args->warmup_requests,
                             .pace = bench_pace_begin(args->rate, 0, until_ns)};
  LK_RETURN_NOT_OK(bench_callers_run(one->callers, &phase, group->bar, &none, &end, error));
  one->result->warmed = end.sent;
  return LK_OK;
}

/* Of several models, with the name of the one that gets the request: "rec: x=1x3x48x320". */
static lk_status note_shape(const bench_subject *subject, uint64_t request, char **out,
                            lk_error *error) {
  uint32_t count = 0;
  const lk_named_tensor *inputs = bench_subject_inputs(subject, request, &count);
  char *text = NULL, name[81];
  LK_RETURN_NOT_OK(shape_text_create(inputs, count, &text, error));
  if (subject->n_models == 1) {
    *out = text;
    return LK_OK;
  }
  (void)lk_text_escape(subject->models[subject->requests[request].model].arg->name, name,
                       sizeof name);
  const int length = asprintf(out, "%s: %s", name, text);
  free(text);
  if (length >= 0) return LK_OK;
  *out = NULL;
  return lk_fail_memory(error, "a shape", 0);
}

static lk_status note_shapes(const bench_subject *subject, char ***out, lk_error *error) {
  *out = lk_calloc(lk_allocator_default(), subject->n_requests, sizeof **out);
  if (*out == NULL) return lk_fail_memory(error, "shapes", subject->n_requests * sizeof **out);
  for (uint64_t r = 0; r < subject->n_requests; r++) {
    LK_RETURN_NOT_OK(note_shape(subject, r, &(*out)[r], error));
  }
  return LK_OK;
}

/* With its callers, and warmed up. */
static lk_status begin_course(const bench_group *group, bench_subject *subject,
                              bench_result *result, bench_course *out, lk_error *error) {
  const cli_model *root = &subject->root;
  *result = (bench_result){.setting = subject->setting,
                           .cache_mode = cli_cache_mode_text(root),
                           .distinct = bench_subject_distinct(subject)};
  result->setting.threads = root->api->context_threads(root->context);
  (void)snprintf(result->engine, sizeof result->engine, "%s",
                 root->api->engine_chosen(root->context));
  *out = (bench_course){.subject = subject, .result = result};
  if (group->args->latencies != NULL) {
    LK_RETURN_NOT_OK(note_shapes(subject, &result->shapes, error));
  }
  LK_RETURN_NOT_OK(bench_callers_create(group->args, subject, &out->callers, error));
  return warm_up(group, out, error);
}

/* Also of the passes that nothing was sent in, so that what the cache has is told. */
static lk_status end_course(const bench_group *group, bench_course *one, lk_error *error) {
  LK_RETURN_NOT_OK(end_pass(group, one, error));
  while (one->n_begun < BENCH_PASSES) {
    LK_RETURN_NOT_OK(begin_pass(group, one, error));
    LK_RETURN_NOT_OK(end_pass(group, one, error));
  }
  bench_callers_failures(one->callers, &one->result->failed, &one->result->mismatched);
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
  for (uint32_t p = 0; p < BENCH_PASSES; p++) {
    lk_free(lk_allocator_default(), result->passes[p].models);
  }
  bench_samples_clear(&result->samples);
  *result = (bench_result){0};
}
