/* A load from begin to end: workers, the clock, a line of progress, and what was counted. */
#include "executor_glue/cli/load/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "executor_glue/cli/common/interrupt.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/common/rss.h"

#define REDRAW_NS UINT64_C(500000000)
#define FIRST_NS LK_SECOND_NS /* nothing is shown before */

/* ---- the line of progress -------------------------------------------------------------------- */

typedef struct load_line {
  bool terminal, drawn;
  uint64_t begin_ns, last_ns, last_done;
} load_line;

static uint64_t count_done(const load_worker *workers, uint32_t n_threads) {
  uint64_t done = 0;
  for (uint32_t t = 0; t < n_threads; t++) {
    done += atomic_load_explicit(&workers[t].done, memory_order_relaxed);
  }
  return done;
}

static void line_draw(load_line *line, const load_worker *workers, uint32_t n_threads,
                      const char *label) {
  char rss[REPORT_TEXT_CAPACITY];
  uint64_t now = lk_now_ns();
  uint64_t done = count_done(workers, n_threads);
  double rate = (double)(done - line->last_done) * 1e9 / (double)(now - line->last_ns);
  if (line->terminal && now - line->begin_ns >= FIRST_NS) {
    (void)fprintf(stderr, "\r\033[K%s %.1f s  %.1f requests/s  RSS %s", label,
                  (double)(now - line->begin_ns) / 1e9, rate, report_bytes(rss_now(), rss));
    (void)fflush(stderr);
    line->drawn = true;
  }
  line->last_ns = now;
  line->last_done = done;
}

static void line_end(load_line *line) {
  if (!line->drawn) return;
  (void)fputs("\r\033[K", stderr);
  (void)fflush(stderr);
  line->drawn = false;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Waits until all workers do. The first SIGINT stops them. */
static void wait_for_workers(load_run *run, const load_worker *workers, const char *label) {
  const uint64_t begin = lk_now_ns();
  load_line line = {.terminal = isatty(STDERR_FILENO) == 1,
                    .begin_ns = begin,
                    .last_ns = begin,
                    .last_done = count_done(workers, run->n_threads)};
  uint64_t next = begin + REDRAW_NS;
  while (!load_run_all_wait(run)) {
    interrupt_wait(next);
    if (interrupt_seen()) atomic_store_explicit(&run->stop, true, memory_order_relaxed);
    if (lk_now_ns() < next) continue;
    line_draw(&line, workers, run->n_threads, label);
    next += REDRAW_NS;
  }
  line_end(&line);
}

static void begin_phase(load_run *run, uint64_t duration_ns, uint64_t requests, uint64_t seed) {
  const double rate = run->models->args->rate;
  const uint64_t now = lk_now_ns();
  const bool timed = requests == UINT64_MAX;
  run->phase = (load_phase){.begin_ns = now,
                            .end_ns = timed ? now + duration_ns : UINT64_MAX,
                            .last_ns = timed ? now + 2 * duration_ns : UINT64_MAX,
                            .requests = requests,
                            .interval_ns = rate > 0.0 ? 1e9 / rate : 0.0,
                            .seed = seed};
  atomic_store_explicit(&run->next, 0, memory_order_relaxed);
  load_run_open(run);
}

/* ---- what was counted ------------------------------------------------------------------------ */

static double cpu_now(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0.0;
  return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
         (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

/* Adds the run plans' counters of now, of all sessions, or takes them away. */
static lk_status count_run_plans(const load_models *models, load_totals *totals, bool before,
                                 lk_error *error) {
  load_totals *sum = &totals[models->count];
  for (uint32_t i = 0; i < models->n_threads * models->count; i++) {
    const uint32_t m = i % models->count;
    /* The first thread borrows the session of the model itself. */
    const cli_model *model = i < models->count ? &models->items[m].first : &models->lanes[i];
    lk_session_stats stats;
    if (model->session == NULL || model->borrowed) continue;
    LK_RETURN_NOT_OK(cli_session_stats(model, &stats, error));
    uint64_t hits = before ? 0 - stats.run_plan_hits : stats.run_plan_hits;
    uint64_t builds = before ? 0 - stats.run_plan_builds : stats.run_plan_builds;
    totals[m].run_plan_hits += hits;
    totals[m].run_plan_builds += builds;
    sum->run_plan_hits += hits;
    sum->run_plan_builds += builds;
  }
  return LK_OK;
}

static void add_counts(load_totals *to, const load_counts *from, double seconds) {
  histogram_merge(&to->latency, &from->latency);
  to->late_sum_ns += from->late_sum_ns;
  if (from->late_max_ns > to->late_max_ns) to->late_max_ns = from->late_max_ns;
  if (seconds > 0.0) to->requests_per_s += (double)from->latency.count / seconds;
}

/* How many requests the clock and the rate wanted until `until_ns`. */
static uint64_t count_due(const load_phase *phase, uint64_t until_ns) {
  if (until_ns > phase->end_ns) until_ns = phase->end_ns;
  double number = (double)(until_ns - phase->begin_ns) / phase->interval_ns;
  uint64_t due = (uint64_t)number;
  if (number > (double)due) due++; /* the first is due at the begin */
  return due < phase->requests ? due : phase->requests;
}

/* The rate of a thread is its requests by its own time. Threads do not end at the same moment, and
 * one that waits for the others at the end was not slow. Its time ends when it finds no more to
 * send, or with the load: one that had no processor when it should have sent another was slow. With
 * a rate, the time is that in which requests were due, or the time that they took if that is
 * longer. */
static void collect(const load_run *run, const load_worker *workers, uint64_t end_ns,
                    load_result *out) {
  const load_phase *phase = &run->phase;
  const uint32_t n_models = run->models->count;
  uint64_t begun = 0;
  uint64_t last_ns = phase->begin_ns;
  for (uint32_t t = 0; t < run->n_threads; t++) {
    begun += workers[t].begun;
    if (workers[t].last_ns > last_ns) last_ns = workers[t].last_ns;
  }
  out->seconds = (double)(last_ns - phase->begin_ns) / 1e9;
  double asked = 0.0;
  if (phase->interval_ns > 0.0) {
    uint64_t due = count_due(phase, end_ns);
    out->unserved = due > begun ? due - begun : 0;
    asked = (double)due * phase->interval_ns / 1e9;
    if (out->seconds > asked) asked = out->seconds;
  }
  for (uint32_t t = 0; t < run->n_threads; t++) {
    const load_worker *worker = &workers[t];
    load_share *share = &out->shares[t];
    uint64_t left_ns = worker->left_ns < last_ns ? worker->left_ns : last_ns;
    share->seconds = (double)(left_ns - phase->begin_ns) / 1e9;
    double seconds = asked > 0.0 ? asked : share->seconds;
    for (uint32_t m = 0; m < n_models; m++) {
      share->requests += worker->counts[m].latency.count;
      add_counts(&out->totals[m], &worker->counts[m], seconds);
      add_counts(&out->totals[n_models], &worker->counts[m], seconds);
    }
    load_failures_merge(&out->failures, &worker->failures);
    load_failures_merge(&out->mismatches, &worker->mismatches);
  }
}

/* ---- the load -------------------------------------------------------------------------------- */

static lk_status measure(load_run *run, load_worker *workers, load_result *out, lk_error *error) {
  lk_status status = LK_OK;
  const load_args *args = run->models->args;
  wait_for_workers(run, workers, "start");
  begin_phase(run, args->warmup_ns, UINT64_MAX, splitmix(args->common.inputs.seed + 1));
  wait_for_workers(run, workers, "warm-up");

  status = cli_stats(&run->models->root, &out->cache_before, error);
  if (status == LK_OK) status = count_run_plans(run->models, out->totals, true, error);
  rss_forget_peak();
  out->rss_before = rss_now();
  double cpu_before = cpu_now();
  begin_phase(run, args->seconds_ns, args->requests > 0 ? args->requests : UINT64_MAX,
              splitmix(args->common.inputs.seed + 2));
  wait_for_workers(run, workers, "load");
  out->cpu_seconds = cpu_now() - cpu_before;
  uint64_t end_ns = lk_now_ns();
  out->rss_after = rss_now();
  out->rss_peak = rss_peak();
  if (out->rss_peak < out->rss_before) out->rss_peak = out->rss_before;
  if (out->rss_peak < out->rss_after) out->rss_peak = out->rss_after;
  out->interrupted = interrupt_seen();
  if (status == LK_OK) status = cli_stats(&run->models->root, &out->cache_after, error);
  if (status == LK_OK) status = count_run_plans(run->models, out->totals, false, error);
  collect(run, workers, end_ns, out);
  load_run_open(run);
  return status;
}

/* After a worker could not be started: the others go through all phases without a request. */
static void dismiss(load_run *run, const load_worker *workers) {
  atomic_store_explicit(&run->stop, true, memory_order_relaxed);
  for (int phase = 0; phase <= LOAD_PHASES; phase++) {
    wait_for_workers(run, workers, "stop");
    load_run_open(run);
  }
}

static lk_status start_workers(load_run *run, load_worker *workers, lk_error *error) {
  const uint32_t wanted = run->n_threads;
  for (uint32_t t = 0; t < wanted; t++) {
    int failed = pthread_create(&workers[t].thread, NULL, load_worker_main, &workers[t]);
    if (failed == 0) continue;
    (void)pthread_mutex_lock(&run->mutex);
    run->n_threads = t;
    (void)pthread_mutex_unlock(&run->mutex);
    return lk_fail(error, LK_OUT_OF_MEMORY, "failed to start thread %u of %u: %s", t + 1, wanted,
                   strerror(failed));
  }
  return LK_OK;
}

static lk_status make_workers(load_run *run, load_worker **out, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  const uint32_t n_models = run->models->count;
  const size_t bytes = run->n_threads * sizeof **out;
  *out = lk_alloc_aligned(allocator, bytes, LOAD_LINE);
  if (*out == NULL) return lk_fail_memory(error, "threads", bytes);
  memset(*out, 0, bytes);
  for (uint32_t t = 0; t < run->n_threads; t++) {
    load_worker *worker = &(*out)[t];
    worker->run = run;
    worker->index = t;
    worker->counts = lk_alloc_aligned(allocator, n_models * sizeof *worker->counts, LOAD_LINE);
    if (worker->counts == NULL) {
      return lk_fail_memory(error, "counters", n_models * sizeof *worker->counts);
    }
  }
  return LK_OK;
}

static lk_status first_fatal(const load_run *run, const load_worker *workers, lk_error *error) {
  for (uint32_t t = 0; t < run->n_threads; t++) {
    if (workers[t].fatal.status == LK_OK) continue;
    *error = workers[t].fatal;
    return error->status;
  }
  return LK_OK;
}

static lk_status make_result(const load_models *models, load_result *out, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  *out = (load_result){.models = models};
  out->totals = lk_calloc(allocator, models->count + 1, sizeof *out->totals);
  out->shares = lk_calloc(allocator, models->n_threads, sizeof *out->shares);
  if (out->totals != NULL && out->shares != NULL) return LK_OK;
  return lk_fail_memory(error, "the report", (models->count + 1) * sizeof *out->totals);
}

lk_status load_run_all(const load_models *models, load_result *out, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = lk_allocator_default();
  load_run run = {.models = models, .n_threads = models->n_threads};
  load_worker *workers = NULL;
  (void)pthread_mutex_init(&run.mutex, NULL);
  (void)pthread_cond_init(&run.opened, NULL);
  for (uint32_t m = 0; m < models->count; m++) run.total_weight += models->items[m].args->weight;

  LK_TRY(make_result(models, out, error));
  run.worked = lk_calloc(allocator, models->count, sizeof *run.worked);
  if (run.worked == NULL) LK_TRY(lk_fail_memory(error, "counters", models->count));
  LK_TRY(make_workers(&run, &workers, error));
  LK_TRY(interrupt_begin(error));
  status = start_workers(&run, workers, error);
  if (status == LK_OK) {
    status = measure(&run, workers, out, error);
  } else {
    dismiss(&run, workers);
  }
  for (uint32_t t = 0; t < run.n_threads; t++) (void)pthread_join(workers[t].thread, NULL);
  interrupt_end();
  if (status == LK_OK) status = first_fatal(&run, workers, error);

cleanup:
  for (uint32_t t = 0; workers != NULL && t < models->n_threads; t++) {
    lk_free(allocator, workers[t].counts);
  }
  lk_free(allocator, workers);
  lk_free(allocator, run.worked);
  (void)pthread_cond_destroy(&run.opened);
  (void)pthread_mutex_destroy(&run.mutex);
  return status;
}

void load_result_destroy(load_result *result) {
  lk_free(lk_allocator_default(), result->totals);
  lk_free(lk_allocator_default(), result->shares);
}
