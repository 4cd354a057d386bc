/* The queue of steps that are ready, and the workers that take them. Explored in
 * tests/promela/ready_queue.pml. */
#include "executor_glue/run/ready_queue.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/status.h"

/* How often a worker without a step looks before it sleeps: about 50 us, most steps are shorter. */
enum { LOOKS = 1500 };

struct lk_ready_queue {
  const lk_allocator *allocator;
  const lk_schedule *schedule;
  lk_run_step_fn *run_step;
  void *arg;
  _Atomic uint32_t *n_left; /* [n_steps]: how many it still waits for */
  _Atomic uint32_t *ready;  /* [n_steps]: step + 1; 0: not there yet */
  _Alignas(LK_CACHE_LINE) _Atomic uint32_t n_queued;
  /* places in the queue that workers wait for or have had */
  _Alignas(LK_CACHE_LINE) _Atomic uint32_t n_taken;
  _Alignas(LK_CACHE_LINE) _Atomic uint32_t n_ended; /* steps */
  atomic_bool stopped;
  _Alignas(LK_CACHE_LINE) _Atomic uint32_t n_asleep; /* written with the mutex */
  pthread_mutex_t mutex;
  pthread_cond_t news;
};

lk_status lk_ready_queue_create(const lk_allocator *allocator, const lk_schedule *schedule,
                                lk_ready_queue **out_queue, lk_error *error) {
  *out_queue = NULL;
  const uint64_t bytes =
      sizeof(lk_ready_queue) + (uint64_t)schedule->n_steps * 2 * sizeof(uint32_t);
  lk_ready_queue *made = lk_calloc_lines(allocator, bytes);
  if (made == NULL) return lk_fail_memory(error, "a queue of steps", bytes);
  made->allocator = allocator;
  made->schedule = schedule;
  made->n_left = (_Atomic uint32_t *)(made + 1);
  made->ready = made->n_left + schedule->n_steps;
  (void)pthread_mutex_init(&made->mutex, NULL); /* with default attributes these cannot fail */
  (void)pthread_cond_init(&made->news, NULL);
  *out_queue = made;
  return LK_OK;
}

void lk_ready_queue_destroy(lk_ready_queue *queue) {
  if (queue == NULL) return;
  pthread_cond_destroy(&queue->news);
  pthread_mutex_destroy(&queue->mutex);
  lk_free(queue->allocator, queue);
}

static bool is_over(const lk_ready_queue *queue) {
  return atomic_load(&queue->n_ended) == queue->schedule->n_steps || atomic_load(&queue->stopped);
}

static void wake(lk_ready_queue *queue) {
  /* A worker that is about to sleep says so before it looks for the last time. */
  if (atomic_load(&queue->n_asleep) == 0) return;
  pthread_mutex_lock(&queue->mutex);
  pthread_cond_broadcast(&queue->news);
  pthread_mutex_unlock(&queue->mutex);
}

static void put(lk_ready_queue *queue, uint32_t step) {
  const uint32_t place = atomic_fetch_add(&queue->n_queued, 1);
  atomic_store(&queue->ready[place], step + 1);
  wake(queue);
}

static void sleep_until(lk_ready_queue *queue, const _Atomic uint32_t *place) {
  pthread_mutex_lock(&queue->mutex);
  atomic_fetch_add(&queue->n_asleep, 1);
  while (atomic_load(place) == 0 && !is_over(queue)) {
    pthread_cond_wait(&queue->news, &queue->mutex);
  }
  atomic_fetch_sub(&queue->n_asleep, 1);
  pthread_mutex_unlock(&queue->mutex);
}

/* False: the run is over. */
static bool next_in_queue(lk_ready_queue *queue, uint32_t *out_step) {
  const uint32_t number = atomic_fetch_add(&queue->n_taken, 1);
  if (number >= queue->schedule->n_steps) return false; /* no more steps than that, ever */
  const _Atomic uint32_t *place = &queue->ready[number];
  for (int looks = 0; atomic_load(place) == 0; looks++) {
    if (is_over(queue)) return false;
    if (looks >= LOOKS) sleep_until(queue, place);
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  *out_step = atomic_load(place) - 1;
  return true;
}

/* After a step: `*out_step` is the one to go on with. False: none has waited for this one only. */
static bool next_after(lk_ready_queue *queue, uint32_t step, uint32_t *out_step) {
  const lk_schedule *schedule = queue->schedule;
  bool found = false;
  for (uint32_t i = schedule->first_successor[step]; i < schedule->first_successor[step + 1]; i++) {
    const uint32_t next = schedule->successors[i];
    if (atomic_fetch_sub(&queue->n_left[next], 1) != 1) continue;
    if (found) {
      put(queue, next);
    } else {
      *out_step = next;
      found = true;
    }
  }
  return found;
}

/* For parallel_run. */
static void run_steps(void *arg, int32_t index, int32_t count) {
  (void)count;
  lk_ready_queue *queue = arg;
  const uint32_t lane = (uint32_t)index;
  uint32_t step = 0;
  bool found = false;
  while (!atomic_load(&queue->stopped)) {
    if (!found && !next_in_queue(queue, &step)) return;
    if (!queue->run_step(queue->arg, step, lane)) {
      atomic_store(&queue->stopped, true);
      wake(queue);
      return;
    }
    found = next_after(queue, step, &step);
    if (atomic_fetch_add(&queue->n_ended, 1) + 1 == queue->schedule->n_steps) wake(queue);
  }
}

bool lk_ready_queue_run(lk_ready_queue *queue, const lk_api *api, lk_context *context,
                        uint32_t workers, lk_run_step_fn *run_step, void *arg) {
  const lk_schedule *schedule = queue->schedule;
  queue->run_step = run_step;
  queue->arg = arg;
  for (uint32_t s = 0; s < schedule->n_steps; s++) {
    atomic_store_explicit(&queue->n_left[s], schedule->n_predecessors[s], memory_order_relaxed);
    const uint32_t root = s < schedule->n_roots ? schedule->roots[s] + 1 : 0;
    atomic_store_explicit(&queue->ready[s], root, memory_order_relaxed);
  }
  atomic_store_explicit(&queue->n_queued, schedule->n_roots, memory_order_relaxed);
  atomic_store_explicit(&queue->n_taken, 0, memory_order_relaxed);
  atomic_store_explicit(&queue->n_ended, 0, memory_order_relaxed);
  atomic_store_explicit(&queue->stopped, false, memory_order_relaxed);
  api->parallel_run(context, (int32_t)workers, run_steps, queue); /* publishes all that */
  return !atomic_load(&queue->stopped);
}
