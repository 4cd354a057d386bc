/* How many runs of one executor are on at once, and what becomes of one more. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include <latchkey/session.h>

#include "base/fork.h"
#include "base/wait_limit.h"

typedef struct lk_run_limit {
  uint32_t most; /* 0: any number, nothing is counted */
  bool fails;    /* one more is refused; else it waits */
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards what follows */
  uint32_t inside;
  uint64_t waits; /* runs that have waited */
  struct lk_run_waiter *first, **last;
} lk_run_limit;

void lk_run_limit_create(lk_run_limit *limit, uint32_t most, bool fails);
void lk_run_limit_destroy(lk_run_limit *limit);

/* LK_BUSY: refused. LK_DEADLINE, LK_CANCELLED: gave up waiting. Runs that wait enter in the order
 * in which they came. */
lk_status lk_run_limit_enter(lk_run_limit *limit, const lk_wait_limit *wait, lk_error *error);
void lk_run_limit_leave(lk_run_limit *limit);
uint64_t lk_run_limit_waits(lk_run_limit *limit);
