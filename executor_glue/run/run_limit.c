/* Runs that are on are counted; the others wait in a list, each on a condition of its own. */
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
  lk_run_limit *limit = object;
  limit->inside = 0;
  limit->first = NULL;
  limit->last = &limit->first;
}

void lk_run_limit_create(lk_run_limit *limit, uint32_t most, bool fails) {
  *limit = (lk_run_limit){.most = most, .fails = fails, .last = &limit->first};
  (void)pthread_mutex_init(&limit->mutex, NULL); /* cannot fail on glibc */
  limit->fork = (lk_fork_entry){.level = LK_FORK_LEAF,
                                .mutex = &limit->mutex,
                                .child = forget_other_threads,
                                .object = limit};
  lk_fork_enter(&limit->fork);
}

void lk_run_limit_destroy(lk_run_limit *limit) {
  lk_fork_leave(&limit->fork);
  pthread_mutex_destroy(&limit->mutex);
}

static lk_status check_wait(const lk_run_limit *limit, const lk_wait_limit *wait, lk_error *error) {
  const int why = lk_wait_limit_reached(wait);
  if (why == 0) return LK_OK;
  return lk_fail(error, lk_wait_limit_status(why),
                 "failed to run the graph: %s while %" PRIu32
                 " runs of it were on, as many as may be",
                 lk_wait_limit_text(why), limit->most);
}

static void remove_waiter(lk_run_limit *limit, const lk_run_waiter *waiter) {
  lk_run_waiter **link = &limit->first;
  while (*link != waiter) link = &(*link)->next;
  *link = waiter->next;
  if (*link == NULL) limit->last = link;
}

/* With the mutex. */
static lk_status wait_for_place(lk_run_limit *limit, const lk_wait_limit *wait, lk_error *error) {
  lk_status status = LK_OK;
  lk_run_waiter me = {0};
  lk_wait_limit_cond_init(&me.let_in);
  *limit->last = &me;
  limit->last = &me.next;
  limit->waits++;
  while (!me.is_inside && status == LK_OK) {
    status = check_wait(limit, wait, error);
    if (status == LK_OK) lk_wait_limit_wait(wait, &me.let_in, &limit->mutex);
  }
  if (!me.is_inside) remove_waiter(limit, &me);
  (void)pthread_cond_destroy(&me.let_in);
  return me.is_inside ? LK_OK : status;
}

lk_status lk_run_limit_enter(lk_run_limit *limit, const lk_wait_limit *wait, lk_error *error) {
  lk_status status = LK_OK;
  if (limit->most == 0) return LK_OK;
  pthread_mutex_lock(&limit->mutex);
  if (limit->inside < limit->most) {
    limit->inside++;
  } else if (limit->fails) {
    status = lk_fail(error, LK_BUSY,
                     "failed to run the graph: %" PRIu32 " runs of it are on, at most %" PRIu32
                     " may be",
                     limit->inside, limit->most);
  } else {
    status = wait_for_place(limit, wait, error);
  }
  pthread_mutex_unlock(&limit->mutex);
  return status;
}

void lk_run_limit_leave(lk_run_limit *limit) {
  if (limit->most == 0) return;
  pthread_mutex_lock(&limit->mutex);
  lk_run_waiter *next = limit->first;
  if (next != NULL) { /* it has the place of the one that leaves */
    remove_waiter(limit, next);
    next->is_inside = true;
    (void)pthread_cond_signal(&next->let_in);
  } else if (limit->inside > 0) { /* not counted: it forked, and this is the child */
    limit->inside--;
  }
  pthread_mutex_unlock(&limit->mutex);
}

uint64_t lk_run_limit_waits(lk_run_limit *limit) {
  pthread_mutex_lock(&limit->mutex);
  const uint64_t waits = limit->waits;
  pthread_mutex_unlock(&limit->mutex);
  return waits;
}
