/* The threads that send requests. */
#include "executor_glue/cli/bench/callers.h"

#include <pthread.h>
#include <stdalign.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "executor_glue/cli/bench/alone.h"
#include "executor_glue/cli/common/interrupt.h"
#include "executor_glue/cli/common/rss.h"

enum { LINE = 128 /* two cache lines: processors fetch them in pairs */ };

typedef struct caller {
  alignas(LINE) bench_callers *all;
  uint32_t index;
  bool started;
  pthread_t thread;
  cli_model *lanes; /* [models]: sessions that all share, or clones, with outputs of its own */
  bench_samples samples;
  uint64_t sent;                     /* requests of the phase */
  bench_failures failed, mismatched; /* of all phases */
  lk_error error;
  lk_status status;
} caller;

struct bench_callers {
  const bench_args *args;
  const bench_subject *subject;
  uint32_t count;
  caller *items;       /* [count] */
  cli_model *lanes;    /* [count][models] */
  atomic_bool *worked; /* [models]: a request of it has succeeded */
  bench_phase phase;   /* constant while callers work */
  progress *bar;       /* of the phases that keep */
  alignas(LINE) _Atomic uint64_t next;
  alignas(LINE) atomic_bool stop; /* a request has failed, none of whose model has worked */
  alignas(LINE) pthread_mutex_t mutex;
  pthread_cond_t changed;
  uint64_t opened;   /* phases; guarded by mutex, as are the next two */
  uint32_t n_closed; /* threads that are through the phase */
  bool quit;
};

/* ---- a phase --------------------------------------------------------------------------------- */

static bool is_over(const bench_callers *all) {
  return atomic_load_explicit(&all->stop, memory_order_relaxed) || interrupt_seen();
}

/* The others go on, unless the model has never worked. Returns what ends the phase. */
static lk_status note_failure(caller *self, uint32_t model, lk_status status) {
  const bench_callers *all = self->all;
  (void)bench_model_prefix(all->subject, model, status, &self->error);
  if (!atomic_load_explicit(&all->worked[model], memory_order_relaxed)) return status;
  bench_failures_note(&self->failed, self->error.message);
  return LK_OK;
}

static void note_success(caller *self, uint64_t request, const cli_model *lane) {
  const bench_callers *all = self->all;
  atomic_bool *worked = &all->worked[all->subject->requests[request].model];
  if (!atomic_load_explicit(worked, memory_order_relaxed)) {
    atomic_store_explicit(worked, true, memory_order_relaxed);
  }
  lk_error error;
  if (bench_alone_check(all->subject, request, lane, all->args->within, &error) == LK_OK) return;
  bench_failures_note(&self->mismatched, error.message);
}

static lk_status send(caller *self, uint64_t number) {
  const bench_subject *subject = self->all->subject;
  const bench_phase *phase = &self->all->phase;
  const uint64_t request = number % subject->n_requests;
  const uint32_t model = subject->requests[request].model;
  cli_model *lane = &self->lanes[model];
  uint32_t count = 0;
  const lk_named_tensor *inputs = bench_subject_inputs(subject, request, &count);
  bench_sample sample = {.request = (uint32_t)request,
                         .pass = (uint32_t)(number / subject->n_requests),
                         .caller = (uint16_t)self->index};
  sample.is_new =
      sample.pass == 0 && request >= phase->warmed && bench_subject_is_new(subject, request);
  sample.begin_ns = lk_now_ns();
  lk_status status = cli_model_run(lane, inputs, count, &self->error);
  sample.ns = lk_now_ns() - sample.begin_ns;
  if (phase->pace.interval_ns > 0) {
    sample.late_ns = sample.begin_ns - bench_pace_due(&phase->pace, number);
    sample.ns += sample.late_ns;
  }
  sample.ok = status == LK_OK;
  if (sample.ok) {
    note_success(self, request, lane);
  } else {
    status = note_failure(self, model, status);
  }
  cli_model_release_outputs(lane);
  if (phase->keeps) {
    lk_error lost;
    lk_status kept = bench_samples_add(&self->samples, &sample, &lost);
    if (status == LK_OK && kept != LK_OK) {
      status = kept;
      self->error = lost;
    }
  }
  return status;
}

/* A sleeping caller looks this often whether the phase is over. */
#define NAP_NS UINT64_C(50000000)

static void sleep_until(const bench_callers *all, uint64_t when) {
  for (uint64_t now = lk_now_ns(); now < when && !is_over(all); now = lk_now_ns()) {
    const struct timespec time = lk_timespec(when - now > NAP_NS ? now + NAP_NS : when);
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
  }
}

/* Hands out the next request, with a rate once it is due. False: there are no more. Without one the
 * clock is asked first, so that each number that is handed out is sent. */
static bool next_request(bench_callers *all, uint64_t *number) {
  const bench_pace *pace = &all->phase.pace;
  const bool has_rate = pace->interval_ns > 0;
  if (is_over(all) || (!has_rate && !bench_pace_allows(pace, 0))) return false;
  *number = atomic_fetch_add_explicit(&all->next, 1, memory_order_relaxed);
  if (*number >= all->phase.end) return false;
  if (!has_rate) return true;
  const uint64_t due_ns = bench_pace_due(pace, *number);
  if (due_ns < pace->until_ns) sleep_until(all, due_ns);
  return !is_over(all) && bench_pace_allows(pace, *number);
}

static void work_through(caller *self) {
  bench_callers *all = self->all;
  const bool has_rate = all->phase.pace.interval_ns > 0;
  uint64_t number = 0;
  self->status = LK_OK;
  self->sent = 0;
  /* By default the kernel wakes sleepers up to 50 us late, which would count as latency. */
  if (has_rate) (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  while (self->status == LK_OK && next_request(all, &number)) {
    self->sent++;
    self->status = send(self, number);
    if (all->phase.keeps) progress_set(all->bar, number + 1);
  }
  if (has_rate) (void)prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL); /* as it was */
  if (self->status != LK_OK) atomic_store_explicit(&all->stop, true, memory_order_relaxed);
}

static void *caller_main(void *argument) {
  caller *self = argument;
  bench_callers *all = self->all;
  (void)pthread_mutex_lock(&all->mutex);
  for (uint64_t seen = 0;; seen++) {
    while (all->opened == seen && !all->quit) (void)pthread_cond_wait(&all->changed, &all->mutex);
    if (all->quit) break;
    (void)pthread_mutex_unlock(&all->mutex);
    work_through(self);
    (void)pthread_mutex_lock(&all->mutex);
    all->n_closed++;
    (void)pthread_cond_broadcast(&all->changed);
  }
  (void)pthread_mutex_unlock(&all->mutex);
  return NULL;
}

static uint64_t cpu_now_ns(void) {
  struct timespec time = {0};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * LK_SECOND_NS + (uint64_t)time.tv_nsec;
}

/* All callers, until the last one is through. */
static void run_phase(bench_callers *callers, const bench_phase *phase) {
  callers->phase = *phase;
  atomic_store_explicit(&callers->next, phase->first, memory_order_relaxed);
  (void)pthread_mutex_lock(&callers->mutex);
  callers->n_closed = 1; /* this one */
  callers->opened++;
  (void)pthread_cond_broadcast(&callers->changed);
  (void)pthread_mutex_unlock(&callers->mutex);
  work_through(&callers->items[0]);
  (void)pthread_mutex_lock(&callers->mutex);
  while (callers->n_closed < callers->count) {
    (void)pthread_cond_wait(&callers->changed, &callers->mutex);
  }
  (void)pthread_mutex_unlock(&callers->mutex);
}

lk_status bench_callers_run(bench_callers *callers, const bench_phase *phase, progress *bar,
                            bench_samples *samples, bench_phase_end *out, lk_error *error) {
  callers->bar = bar;
  rss_forget_peak();
  const uint64_t begin_ns = lk_now_ns(), cpu_before_ns = cpu_now_ns();
  run_phase(callers, phase);
  *out = (bench_phase_end){.elapsed_ns = lk_now_ns() - begin_ns,
                           .cpu_ns = cpu_now_ns() - cpu_before_ns,
                           .rss_peak = rss_peak()};
  lk_status status = LK_OK;
  for (uint32_t i = 0; i < callers->count; i++) {
    caller *one = &callers->items[i];
    out->sent += one->sent;
    if (status == LK_OK) status = bench_samples_append(samples, &one->samples, error);
    bench_samples_clear(&one->samples);
  }
  bench_samples_sort(samples);
  for (uint32_t i = 0; i < callers->count && status == LK_OK; i++) {
    status = callers->items[i].status;
    if (status != LK_OK && error != NULL) *error = callers->items[i].error;
  }
  return status;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The first caller has the sessions of the subject, with --clones too. */
static lk_status open_lanes(const bench_callers *all, const caller *one, lk_error *error) {
  const bool clones = all->args->clones && one->index > 0;
  for (uint32_t m = 0; m < all->subject->n_models; m++) {
    const cli_model *session = &all->subject->models[m].session;
    LK_RETURN_NOT_OK(cli_session_share(session, clones, &one->lanes[m], error));
  }
  return LK_OK;
}

static lk_status start(bench_callers *all, lk_error *error) {
  for (uint32_t i = 0; i < all->count; i++) {
    caller *one = &all->items[i];
    one->all = all;
    one->index = i;
    one->lanes = all->lanes + (size_t)i * all->subject->n_models;
    LK_RETURN_NOT_OK(open_lanes(all, one, error));
    if (i == 0) continue;
    const int failed = pthread_create(&one->thread, NULL, caller_main, one);
    if (failed != 0) {
      return lk_fail(error, LK_OUT_OF_MEMORY, "failed to start caller %u of %u: %s", i + 1,
                     all->count, strerror(failed));
    }
    one->started = true;
  }
  return LK_OK;
}

lk_status bench_callers_create(const bench_args *args, const bench_subject *subject,
                               bench_callers **out, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  const uint32_t count = subject->setting.callers;
  *out = NULL;
  bench_callers *all = lk_alloc_aligned(allocator, sizeof *all, LINE);
  if (all == NULL) return lk_fail_memory(error, "callers", sizeof *all);
  memset(all, 0, sizeof *all);
  all->args = args;
  all->subject = subject;
  (void)pthread_mutex_init(&all->mutex, NULL);
  (void)pthread_cond_init(&all->changed, NULL);
  lk_status status = LK_OK;
  const size_t bytes = count * sizeof *all->items;
  all->items = lk_alloc_aligned(allocator, bytes, LINE);
  all->lanes = lk_calloc(allocator, (size_t)count * subject->n_models, sizeof *all->lanes);
  all->worked = lk_calloc(allocator, subject->n_models, sizeof *all->worked);
  if (all->items == NULL || all->lanes == NULL || all->worked == NULL) {
    status = lk_fail_memory(error, "callers", bytes);
  } else {
    memset(all->items, 0, bytes);
    all->count = count;
    status = start(all, error);
  }
  if (status == LK_OK) {
    *out = all;
  } else {
    bench_callers_destroy(all);
  }
  return status;
}

lk_status bench_callers_plans(const bench_callers *callers, uint32_t model, bench_plans *out,
                              lk_error *error) {
  *out = (bench_plans){0};
  for (uint32_t i = 0; i < callers->count; i++) {
    const cli_model *lane = &callers->items[i].lanes[model];
    lk_session_stats stats;
    if (i > 0 && lane->borrowed) continue;
    LK_RETURN_NOT_OK(cli_session_stats(lane, &stats, error));
    out->hits += stats.run_plan_hits;
    out->builds += stats.run_plan_builds;
  }
  return LK_OK;
}

void bench_callers_failures(const bench_callers *callers, bench_failures *failed,
                            bench_failures *mismatched) {
  for (uint32_t i = 0; i < callers->count; i++) {
    bench_failures_merge(failed, &callers->items[i].failed);
    bench_failures_merge(mismatched, &callers->items[i].mismatched);
  }
}

void bench_callers_destroy(bench_callers *callers) {
  if (callers == NULL) return;
  (void)pthread_mutex_lock(&callers->mutex);
  callers->quit = true;
  (void)pthread_cond_broadcast(&callers->changed);
  (void)pthread_mutex_unlock(&callers->mutex);
  for (uint32_t i = 0; i < callers->count; i++) {
    caller *one = &callers->items[i];
    if (one->started) (void)pthread_join(one->thread, NULL);
    bench_samples_clear(&one->samples);
  }
  for (size_t i = 0; i < (size_t)callers->count * callers->subject->n_models; i++) {
    cli_session_close(&callers->lanes[i]);
  }
  lk_free(lk_allocator_default(), callers->items);
  lk_free(lk_allocator_default(), callers->lanes);
  lk_free(lk_allocator_default(), callers->worked);
  (void)pthread_cond_destroy(&callers->changed);
  (void)pthread_mutex_destroy(&callers->mutex);
  lk_free(lk_allocator_default(), callers);
}
