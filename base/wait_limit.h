/* How long a thread waits: until one of two flags of the host is set, or a deadline has passed. */
#pragma once

#include <latchkey/base.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lk_wait_limit {
  const volatile int32_t *cancel; /* not 0: it waits no longer; seen within 5 ms. NULL: no flag */
  const volatile uint8_t *stop;   /* the same */
  uint64_t deadline_ns;           /* of CLOCK_MONOTONIC; 0: none */
} lk_wait_limit;

/* Why it waits no longer. */
enum { LK_WAIT_CANCELLED = -1, LK_WAIT_DEADLINE = -2 };

/* The host may set its flags at any time with a plain store, so they are read atomically. */
static inline bool lk_wait_limit_is_cancelled(const lk_wait_limit *limit) {
  return (limit->cancel != NULL && __atomic_load_n(limit->cancel, __ATOMIC_RELAXED) != 0) ||
         (limit->stop != NULL && __atomic_load_n(limit->stop, __ATOMIC_RELAXED) != 0);
}

/* Why to wait no longer, or 0. Looks at the clock only where there is a deadline. */
int lk_wait_limit_reached(const lk_wait_limit *limit);
/* The status that a reason, or 0, is for who waited, and the words for it in a sentence. */
lk_status lk_wait_limit_status(int why);
const char *lk_wait_limit_text(int why);

/* For a condition that lk_wait_limit_wait waits for. */
void lk_wait_limit_cond_init(pthread_cond_t *cond);
/* Returns when somebody has signalled, or when lk_wait_limit_reached may have something to say.
 * Like any wait for a condition, it may also return without a cause. */
void lk_wait_limit_wait(const lk_wait_limit *limit, pthread_cond_t *cond, pthread_mutex_t *mutex);
