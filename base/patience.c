#include "base/patience.h"

#include <time.h>

/* How long a flag that nobody tells us of goes unseen. */
#define FLAG_NS UINT64_C(5000000)
#define SECOND_NS UINT64_C(1000000000)

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

int lk_patience_end(const lk_patience *patience) {
  if (lk_patience_is_cancelled(patience)) return LK_PATIENCE_CANCELLED;
  if (patience->deadline_ns != 0 && now_ns() >= patience->deadline_ns) return LK_PATIENCE_DEADLINE;
  return 0;
}

void lk_patience_cond_init(pthread_cond_t *cond) {
  pthread_condattr_t monotonic;
  (void)pthread_condattr_init(&monotonic); /* these cannot fail on glibc */
  (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  (void)pthread_cond_init(cond, &monotonic);
  (void)pthread_condattr_destroy(&monotonic);
}

void lk_patience_wait(const lk_patience *patience, pthread_cond_t *cond, pthread_mutex_t *mutex) {
  const bool has_flag = patience->cancel != NULL || patience->stop != NULL;
  const uint64_t deadline = patience->deadline_ns;
  if (!has_flag && deadline == 0) {
    (void)pthread_cond_wait(cond, mutex);
    return;
  }
  uint64_t until = has_flag ? now_ns() + FLAG_NS : deadline;
  if (deadline != 0 && deadline < until) until = deadline;
  const struct timespec at = {(time_t)(until / SECOND_NS), (long)(until % SECOND_NS)};
  (void)pthread_cond_timedwait(cond, mutex, &at);
}
