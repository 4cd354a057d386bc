#include "executor_glue/run/run_limit.h"

#include <inttypes.h>

#include "base/status.h"

typedef struct lk_run_waiter {
  struct lk_run_waiter *next;
  pthread_cond_t let_in;
  bool is_inside;
} lk_run_waiter;

/* A child of fork: the runs of other threads are not there. */
static void forget_other_threads(void *object) {
  lk_run_limit *gate = object;
  gate->inside = 0;
  gate->first = NULL;
  gate->last = &gate->first;
}

void lk_run_limit_init(lk_run_limit *gate, uint32_t most, bool fails) {
  *gate = (lk_run_limit){.most = most, .fails = fails, .last = &gate->first};
  (void)pthread_mutex_init(&gate->mutex, NULL); /* cannot fail on glibc */
  gate->fork = (lk_fork_entry){
      .level = LK_FORK_LEAF, .mutex = &gate->mutex, .child = forget_other_threads, .object = gate};
  lk_fork_enter(&gate->fork);
}

void lk_run_limit_destroy(lk_run_limit *gate) {
  lk_fork_leave(&gate->fork);
  pthread_mutex_destroy(&gate->mutex);
}

static lk_status check_limit(const lk_run_limit *gate, const lk_wait_limit *limit,
                             lk_error *error) {
  static const char text[] =
      "failed to run the graph: %s while %" PRIu32 " runs of it were on, as many as may be";
  switch (lk_wait_limit_reached(limit)) {
  case LK_WAIT_CANCELLED:
    return lk_fail(error, LK_CANCELLED, text, "cancelled", gate->most);
  case LK_WAIT_DEADLINE:
    return lk_fail(error, LK_DEADLINE, text, "the deadline passed", gate->most);
  default:
    return LK_OK;
  }
}

static void remove_waiter(lk_run_limit *gate, const lk_run_waiter *waiter) {
  lk_run_waiter **link = &gate->first;
  while (*link != waiter) link = &(*link)->next;
  *link = waiter->next;
  if (*link == NULL) gate->last = link;
}

/* With the mutex. */
static lk_status wait_for_place(lk_run_limit *gate, const lk_wait_limit *limit, lk_error *error) {
  lk_status status = LK_OK;
  lk_run_waiter me = {0};
  lk_wait_limit_cond_init(&me.let_in);
  *gate->last = &me;
  gate->last = &me.next;
  gate->waits++;
  while (!me.is_inside && status == LK_OK) {
    status = check_limit(gate, limit, error);
    if (status == LK_OK) lk_wait_limit_wait(limit, &me.let_in, &gate->mutex);
  }
  if (!me.is_inside) remove_waiter(gate, &me);
  (void)pthread_cond_destroy(&me.let_in);
  return me.is_inside ? LK_OK : status;
}

lk_status lk_run_limit_enter(lk_run_limit *gate, const lk_wait_limit *limit, lk_error *error) {
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
    status = wait_for_place(gate, limit, error);
  }
  pthread_mutex_unlock(&gate->mutex);
  return status;
}

void lk_run_limit_leave(lk_run_limit *gate) {
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

uint64_t lk_run_limit_waits(lk_run_limit *gate) {
  pthread_mutex_lock(&gate->mutex);
  const uint64_t waits = gate->waits;
  pthread_mutex_unlock(&gate->mutex);
  return waits;
}
