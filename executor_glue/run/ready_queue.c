/* Turns: the queue of steps that are ready, and the workers that take them. Explored in tests/promela/turns.pml. */
#include "executor_glue/run/ready_queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/* How often a worker without a step looks before it sleeps: about 50 us, most steps are shorter. */
enum { LOOKS = 1500 };

enum { LINE = 64 }; /* bytes that processors hand to each other */

struct lk_ready_queue {
  const lk_allocator *allocator;
  const lk_run_schedule *schedule;
  lk_run_step_fn *run_step;
  void *arg;
  _Atomic uint32_t *n_left; /* [n_steps]: how many it still waits for */
  _Atomic uint32_t *queue;  /* [n_steps]: step + 1; 0: not there yet */
  _Alignas(LINE) _Atomic uint32_t n_queued;
  _Alignas(
      LINE) _Atomic uint32_t n_taken; /* places in the queue that workers wait for or have had */
  _Alignas(LINE) _Atomic uint32_t n_ended; /* steps */
  atomic_bool stopped;
  _Alignas(LINE) _Atomic uint32_t n_asleep; /* written with the mutex */
  pthread_mutex_t mutex;
  pthread_cond_t news;
};

lk_status lk_ready_queue_create(const lk_allocator *allocator, const lk_run_schedule *schedule,
                                lk_ready_queue **out_turns, lk_error *error) {
  *out_turns = NULL;
  lk_ready_queue *made = lk_alloc_aligned(allocator, sizeof *made, LINE);
  if (made == NULL) return lk_fail_memory(error, "the turns of a run", sizeof *made);
  memset(made, 0, sizeof *made);
  made->allocator = allocator;
  made->schedule = schedule;
  made->n_left = lk_calloc(allocator, schedule->n_steps, sizeof *made->n_left);
  made->queue = lk_calloc(allocator, schedule->n_steps, sizeof *made->queue);
  (void)pthread_mutex_init(&made->mutex, NULL); /* with default attributes these cannot fail */
  (void)pthread_cond_init(&made->news, NULL);
  if (made->n_left == NULL || made->queue == NULL) {
    lk_ready_queue_destroy(made);
    return lk_fail_memory(error, "the turns of a run", schedule->n_steps * sizeof *made->queue);
  }
  *out_turns = made;
  return LK_OK;
}

void lk_ready_queue_destroy(lk_ready_queue *turns) {
  if (turns == NULL) return;
  pthread_cond_destroy(&turns->news);
  pthread_mutex_destroy(&turns->mutex);
  lk_free(turns->allocator, (void *)turns->queue);
  lk_free(turns->allocator, (void *)turns->n_left);
  lk_free(turns->allocator, turns);
}

uint64_t lk_ready_queue_bytes(const lk_ready_queue *turns) {
  return sizeof *turns + (uint64_t)turns->schedule->n_steps * 2 * sizeof(uint32_t);
}

static bool is_over(const lk_ready_queue *turns) {
  return atomic_load(&turns->n_ended) == turns->schedule->n_steps || atomic_load(&turns->stopped);
}

static void wake(lk_ready_queue *turns) {
  /* A worker that is about to sleep says so before it looks for the last time. */
  if (atomic_load(&turns->n_asleep) == 0) return;
  pthread_mutex_lock(&turns->mutex);
  pthread_cond_broadcast(&turns->news);
  pthread_mutex_unlock(&turns->mutex);
}

static void put(lk_ready_queue *turns, uint32_t step) {
  const uint32_t place = atomic_fetch_add(&turns->n_queued, 1);
  atomic_store(&turns->queue[place], step + 1);
  wake(turns);
}

static void sleep_until(lk_ready_queue *turns, const _Atomic uint32_t *place) {
  pthread_mutex_lock(&turns->mutex);
  atomic_fetch_add(&turns->n_asleep, 1);
  while (atomic_load(place) == 0 && !is_over(turns)) {
    pthread_cond_wait(&turns->news, &turns->mutex);
  }
  atomic_fetch_sub(&turns->n_asleep, 1);
  pthread_mutex_unlock(&turns->mutex);
}

/* False: the run is over. */
static bool next_in_queue(lk_ready_queue *turns, uint32_t *out_step) {
  const uint32_t number = atomic_fetch_add(&turns->n_taken, 1);
  if (number >= turns->schedule->n_steps) return false; /* no more steps than that, ever */
  const _Atomic uint32_t *place = &turns->queue[number];
  for (int looks = 0; atomic_load(place) == 0; looks++) {
    if (is_over(turns)) return false;
    if (looks >= LOOKS) sleep_until(turns, place);
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  *out_step = atomic_load(place) - 1;
  return true;
}

/* After a step: `*out_step` is the one to go on with. False: none has waited for this one only. */
static bool next_after(lk_ready_queue *turns, uint32_t step, uint32_t *out_step) {
  const lk_run_schedule *schedule = turns->schedule;
  bool found = false;
  for (uint32_t i = schedule->first_after[step]; i < schedule->first_after[step + 1]; i++) {
    const uint32_t next = schedule->after[i];
    if (atomic_fetch_sub(&turns->n_left[next], 1) != 1) continue;
    if (found) {
      put(turns, next);
    } else {
      *out_step = next;
      found = true;
    }
  }
  return found;
}

/* For parallel_run. */
static void take_turns(void *arg, int32_t index, int32_t count) {
  lk_ready_queue *turns = arg;
  const uint32_t lane = (uint32_t)index;
  (void)count; /* one worker alone takes all steps */
  uint32_t step = 0;
  bool found = false;
  while (!atomic_load(&turns->stopped)) {
    if (!found && !next_in_queue(turns, &step)) return;
    if (!turns->run_step(turns->arg, step, lane)) {
      atomic_store(&turns->stopped, true);
      wake(turns);
      return;
    }
    found = next_after(turns, step, &step);
    if (atomic_fetch_add(&turns->n_ended, 1) + 1 == turns->schedule->n_steps) wake(turns);
  }
}

bool lk_ready_queue_run(lk_ready_queue *turns, const lk_api *api, lk_context *context,
                        uint32_t workers, lk_run_step_fn *run_step, void *arg) {
  const lk_run_schedule *schedule = turns->schedule;
  turns->run_step = run_step;
  turns->arg = arg;
  for (uint32_t s = 0; s < schedule->n_steps; s++) {
    atomic_store_explicit(&turns->n_left[s], schedule->n_before[s], memory_order_relaxed);
    const uint32_t root = s < schedule->n_roots ? schedule->roots[s] + 1 : 0;
    atomic_store_explicit(&turns->queue[s], root, memory_order_relaxed);
  }
  atomic_store_explicit(&turns->n_queued, schedule->n_roots, memory_order_relaxed);
  atomic_store_explicit(&turns->n_taken, 0, memory_order_relaxed);
  atomic_store_explicit(&turns->n_ended, 0, memory_order_relaxed);
  atomic_store_explicit(&turns->stopped, false, memory_order_relaxed);
  api->parallel_run(context, (int32_t)workers, take_turns, turns); /* publishes all that */
  return !atomic_load(&turns->stopped);
}
