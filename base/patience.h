/* How long a thread waits for its turn: until two flags of the host, or a deadline, say that it is long
 * enough. */
#ifndef LK_BASE_PATIENCE_H
#define LK_BASE_PATIENCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lk_patience {
  const volatile int32_t *cancel; /* NULL, or not 0: no longer; seen within 5 ms */
  const volatile uint8_t *stop;   /* the same */
  uint64_t deadline_ns;           /* of CLOCK_MONOTONIC; 0: none */
} lk_patience;

/* Why it ends. */
enum { LK_PATIENCE_CANCELLED = -1, LK_PATIENCE_DEADLINE = -2 };

/* The host may set its flags at any time: plainly, as far as C lets it. */
static inline bool lk_patience_is_cancelled(const lk_patience *patience) {
  return (patience->cancel != NULL && __atomic_load_n(patience->cancel, __ATOMIC_RELAXED) != 0) ||
         (patience->stop != NULL && __atomic_load_n(patience->stop, __ATOMIC_RELAXED) != 0);
}

/* Why it has ended, or 0. Looks at the clock only where there is a deadline. */
int lk_patience_end(const lk_patience *patience);

/* Of a condition that lk_patience_wait waits for. */
void lk_patience_cond_init(pthread_cond_t *cond);
/* Returns when somebody has signalled, or when it is time for lk_patience_end; sometimes for nothing. */
void lk_patience_wait(const lk_patience *patience, pthread_cond_t *cond, pthread_mutex_t *mutex);

#endif
