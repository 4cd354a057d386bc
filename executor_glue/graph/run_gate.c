#include "executor_glue/graph/run_gate.h"

#include <inttypes.h>
#include <time.h>

#include "plugin/base/status.h"

#define FLAG_NS UINT64_C(5000000)
#define SECOND_NS UINT64_C(1000000000)

typedef struct lk_run_waiter {
  struct lk_run_waiter *next;
  pthread_cond_t let_in;
  bool is_inside;
} lk_run_waiter;

/* A child of fork: the runs of other threads are not there. */
static void forget_other_threads(void *object) {
  lk_run_gate *gate = object;
  gate->inside = 0;
  gate->first = NULL;
  gate->last = &gate->first;
}

void lk_run_gate_init(lk_run_gate *gate, uint32_t most, bool fails) {
  *gate = (lk_run_gate){.most = most, .fails = fails, .last = &gate->first};
  (void)pthread_mutex_init(&gate->mutex, NULL); /* cannot fail on glibc */
  gate->fork = (lk_fork_entry){
      .level = LK_FORK_LEAF, .mutex = &gate->mutex, .child = forget_other_threads, .object = gate};
  lk_fork_enter(&gate->fork);
}

void lk_run_gate_destroy(lk_run_gate *gate) {
  lk_fork_leave(&gate->fork);
  pthread_mutex_destroy(&gate->mutex);
}

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static lk_status check_patience(const lk_run_gate *gate, const lk_run_options *options,
                                const volatile uint8_t *stop, lk_error *error) {
  static const char text[] =
      "failed to run the graph: %s while %" PRIu32 " runs of it were on, as many as may be";
  const volatile int32_t *cancel = options != NULL ? options->cancel : NULL;
  if ((cancel != NULL && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0) ||
      (stop != NULL && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0)) {
    return lk_fail(error, LK_CANCELLED, text, "cancelled", gate->most);
  }
  if (options != NULL && options->deadline_ns != 0 && now_ns() >= options->deadline_ns) {
    return lk_fail(error, LK_DEADLINE, text, "the deadline passed", gate->most);
  }
  return LK_OK;
}

/* Until this one is let in, or it is time to look at the flags or the clock. */
static void wait_shortly(lk_run_gate *gate, lk_run_waiter *me, const lk_run_options *options,
                         const volatile uint8_t *stop) {
  const bool has_flag = stop != NULL || (options != NULL && options->cancel != NULL);
  const uint64_t deadline = options != NULL ? options->deadline_ns : 0;
  if (!has_flag && deadline == 0) {
    (void)pthread_cond_wait(&me->let_in, &gate->mutex);
    return;
  }
  uint64_t until = has_flag ? now_ns() + FLAG_NS : deadline;
  if (deadline != 0 && deadline < until) until = deadline;
  const struct timespec at = {(time_t)(until / SECOND_NS), (long)(until % SECOND_NS)};
  (void)pthread_cond_timedwait(&me->let_in, &gate->mutex, &at);
}

static void remove_waiter(lk_run_gate *gate, const lk_run_waiter *waiter) {
  lk_run_waiter **link = &gate->first;
  while (*link != waiter) link = &(*link)->next;
  *link = waiter->next;
  if (*link == NULL) gate->last = link;
}

/* With the mutex. */
static lk_status wait_for_place(lk_run_gate *gate, const lk_run_options *options,
                                const volatile uint8_t *stop, lk_error *error) {
  lk_status status = LK_OK;
  lk_run_waiter me = {0};
  pthread_condattr_t monotonic;
  (void)pthread_condattr_init(&monotonic); /* these cannot fail on glibc */
  (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&me.let_in, &monotonic);
  (void)pthread_condattr_destroy(&monotonic);
  *gate->last = &me;
  gate->last = &me.next;
  gate->waits++;
  while (!me.is_inside && status == LK_OK) {
    status = check_patience(gate, options, stop, error);
    if (status == LK_OK) wait_shortly(gate, &me, options, stop);
  }
  if (!me.is_inside) remove_waiter(gate, &me);
  (void)pthread_cond_destroy(&me.let_in);
  return me.is_inside ? LK_OK : status;
}

lk_status lk_run_gate_enter(lk_run_gate *gate, const lk_run_options *options,
                            const volatile uint8_t *stop, lk_error *error) {
  lk_status status = LK_OK;
  if (gate->most == 0) return LK_OK;
  pthread_mutex_lock(&gate->mutex);
  if (gate->inside < gate->most) {
    gate->inside++;
  } else if (gate->fails) {
    status = lk_fail(error, LK_BUSY,
                     "failed to run the graph: %" PRIu32 " runs of it are on, at most %" PRIu32
                     " may be",
                     gate->inside, gate->most);
  } else {
    status = wait_for_place(gate, options, stop, error);
  }
  pthread_mutex_unlock(&gate->mutex);
  return status;
}

void lk_run_gate_leave(lk_run_gate *gate) {
  if (gate->most == 0) return;
  pthread_mutex_lock(&gate->mutex);
  lk_run_waiter *next = gate->first;
  if (next != NULL) { /* it has the place of the one that leaves */
    remove_waiter(gate, next);
    next->is_inside = true;
    (void)pthread_cond_signal(&next->let_in);
  } else if (gate->inside > 0) { /* not counted: it forked, and this is the child */
    gate->inside--;
  }
  pthread_mutex_unlock(&gate->mutex);
}

uint64_t lk_run_gate_waits(lk_run_gate *gate) {
  pthread_mutex_lock(&gate->mutex);
  const uint64_t waits = gate->waits;
  pthread_mutex_unlock(&gate->mutex);
  return waits;
}
