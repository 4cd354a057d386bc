/* A thread that sends requests, phase by phase. */
#include "executor_glue/cli/load/worker.h"

#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/cli/common/compare.h"
#include "executor_glue/cli/common/interrupt.h"

/* A sleeping worker looks at `stop` this often. */
#define NAP_NS UINT64_C(50000000)

/* ---- the gate between phases ----------------------------------------------------------------- */

static void wait_for_phase(load_run *run) {
  (void)pthread_mutex_lock(&run->mutex);
  uint32_t before = run->n_opened;
  if (++run->n_waiting == run->n_threads) interrupt_wake();
  while (run->n_opened == before) (void)pthread_cond_wait(&run->opened, &run->mutex);
  (void)pthread_mutex_unlock(&run->mutex);
}

bool load_run_all_wait(load_run *run) {
  (void)pthread_mutex_lock(&run->mutex);
  bool all = run->n_waiting == run->n_threads;
  (void)pthread_mutex_unlock(&run->mutex);
  return all;
}

void load_run_open(load_run *run) {
  (void)pthread_mutex_lock(&run->mutex);
  run->n_waiting = 0;
  run->n_opened++;
  (void)pthread_cond_broadcast(&run->opened);
  (void)pthread_mutex_unlock(&run->mutex);
}

/* ---- which request, and when ----------------------------------------------------------------- */

static uint64_t draw(uint64_t *state, uint64_t below) {
  uint64_t number = splitmix(*state) % below;
  *state += SPLITMIX_STEP;
  return number;
}

static uint32_t draw_model(const load_run *run, uint64_t *state) {
  uint64_t at = draw(state, run->total_weight);
  uint32_t model = 0;
  while (at >= run->models->items[model].args->weight) {
    at -= run->models->items[model].args->weight;
    model++;
  }
  return model;
}

static bool stopped(load_run *run) {
  return atomic_load_explicit(&run->stop, memory_order_relaxed);
}

static void sleep_until(load_run *run, uint64_t when) {
  for (uint64_t now = lk_now_ns(); now < when && !stopped(run); now = lk_now_ns()) {
    uint64_t until = when - now > NAP_NS ? now + NAP_NS : when;
    const struct timespec time = lk_timespec(until);
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
  }
}

/* Waits until the next request is due: its latency begins at `*due`. False: there are no more. */
static bool next_request(load_run *run, uint64_t *due) {
  const load_phase *phase = &run->phase;
  uint64_t number = 0;
  bool has_rate = phase->interval_ns > 0.0;
  if (has_rate || phase->requests != UINT64_MAX) {
    number = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
    if (number >= phase->requests) return false;
  }
  if (!has_rate) {
    *due = lk_now_ns();
    return !stopped(run) && *due < phase->end_ns;
  }
  *due = phase->begin_ns + (uint64_t)((double)number * phase->interval_ns);
  if (*due >= phase->end_ns) return false;
  sleep_until(run, *due);
  return !stopped(run) && lk_now_ns() < phase->last_ns;
}

/* ---- a request ------------------------------------------------------------------------------- */

/* Tensors of equal bytes are equal. Others are compared number by number. */
static lk_status compare_output(const lk_named_tensor *got, const lk_tensor *expected,
                                tolerance within, lk_error *error) {
  if (lk_tensor_desc_same(&got->tensor.desc, &expected->desc)) {
    size_t bytes = (size_t)lk_elements(&expected->desc) * lk_dtype_size(expected->desc.dtype);
    if (bytes == 0 || memcmp(got->tensor.data, expected->data, bytes) == 0) return LK_OK;
  }
  return compare_tensors(&got->tensor, expected, within, got->name, error);
}

static void check(load_worker *worker, const load_model *model, const cli_model *lane,
                  uint64_t request) {
  if (model->expected == NULL) return;
  const lk_tensor *expected = model->expected + request * lane->n_outputs;
  for (uint32_t i = 0; i < lane->n_outputs; i++) {
    lk_error error;
    lk_status status =
        compare_output(&lane->outputs[i], &expected[i], worker->run->models->args->within, &error);
    if (status == LK_OK) continue;
    (void)lk_error_prefix(&error, status, "%s", model->args->name);
    load_failures_note(&worker->mismatches, error.message);
    return; /* one request is one mismatch */
  }
}

/* The load goes on, unless the model has never worked. */
static void note_failure(load_worker *worker, uint32_t index, lk_status status, lk_error *error) {
  load_run *run = worker->run;
  (void)lk_error_prefix(error, status, "%s", run->models->items[index].args->name);
  load_failures_note(&worker->failures, error->message);
  if (atomic_load_explicit(&run->worked[index], memory_order_relaxed)) return;
  worker->fatal = *error;
  atomic_store_explicit(&run->stop, true, memory_order_relaxed);
}

static void send(load_worker *worker, uint32_t index, uint64_t request, uint64_t due) {
  load_run *run = worker->run;
  const load_model *model = &run->models->items[index];
  cli_model *lane = &run->models->lanes[worker->index * run->models->count + index];
  load_counts *counts = &worker->counts[index];
  const lk_named_tensor *inputs = model->requests + request * model->n_inputs;
  lk_error error;
  uint64_t begin = lk_now_ns();
  lk_status status = cli_model_run(lane, inputs, model->n_inputs, &error);
  uint64_t end = lk_now_ns();
  if (status != LK_OK) {
    note_failure(worker, index, status, &error);
  } else {
    if (!atomic_load_explicit(&run->worked[index], memory_order_relaxed)) {
      atomic_store_explicit(&run->worked[index], true, memory_order_relaxed);
    }
    /* Without a rate a request is due when it begins. */
    if (run->phase.interval_ns > 0.0) {
      uint64_t late = begin - due;
      histogram_record(&counts->latency, end - due);
      counts->late_sum_ns += late;
      if (late > counts->late_max_ns) counts->late_max_ns = late;
    } else {
      histogram_record(&counts->latency, end - begin);
    }
    check(worker, model, lane, request);
  }
  cli_model_release_outputs(lane);
  worker->last_ns = end;
  atomic_store_explicit(&worker->done,
                        atomic_load_explicit(&worker->done, memory_order_relaxed) + 1,
                        memory_order_relaxed);
}

static void work(load_worker *worker) {
  load_run *run = worker->run;
  const load_models *models = run->models;
  uint64_t state = splitmix(run->phase.seed + worker->index * SPLITMIX_STEP);
  worker->begun = 0;
  worker->last_ns = run->phase.begin_ns;
  for (uint64_t due = 0; next_request(run, &due); worker->begun++) {
    uint32_t model = draw_model(run, &state);
    send(worker, model, draw(&state, models->pool), due);
  }
  worker->left_ns = lk_now_ns();
}

void *load_worker_main(void *argument) {
  load_worker *worker = argument;
  /* By default the kernel wakes sleepers up to 50 us late, which would count as latency. */
  (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  for (int phase = 0; phase < LOAD_PHASES; phase++) {
    for (uint32_t m = 0; m < worker->run->models->count; m++) {
      histogram_clear(&worker->counts[m].latency);
      worker->counts[m].late_sum_ns = 0;
      worker->counts[m].late_max_ns = 0;
    }
    wait_for_phase(worker->run);
    work(worker);
  }
  /* The thread's tables in the cache end with it: the main thread reads their counters before. */
  wait_for_phase(worker->run);
  return NULL;
}
