#include "base/wait_limit.h"

#include "base/clock.h"

/* Nobody signals when a flag is set: it is looked at this often. */
#define FLAG_NS UINT64_C(5000000)

int lk_wait_limit_reached(const lk_wait_limit *limit) {
  if (lk_wait_limit_is_cancelled(limit)) return LK_WAIT_CANCELLED;
  if (limit->deadline_ns != 0 && lk_now_ns() >= limit->deadline_ns) return LK_WAIT_DEADLINE;
  return 0;
}

lk_status lk_wait_limit_status(int why) {
  return why == LK_WAIT_CANCELLED ? LK_CANCELLED : why == LK_WAIT_DEADLINE ? LK_DEADLINE : LK_OK;
}

const char *lk_wait_limit_text(int why) {
  return why == LK_WAIT_CANCELLED ? "cancelled" : "the deadline passed";
}

void lk_wait_limit_cond_init(pthread_cond_t *cond) {
  pthread_condattr_t monotonic;
  (void)pthread_condattr_init(&monotonic); /* these cannot fail on glibc */
  (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  (void)pthread_cond_init(cond, &monotonic);
  (void)pthread_condattr_destroy(&monotonic);
}

void lk_wait_limit_wait(const lk_wait_limit *limit, pthread_cond_t *cond, pthread_mutex_t *mutex) {
  const bool has_flag = limit->cancel != NULL || limit->stop != NULL;
  const uint64_t deadline = limit->deadline_ns;
  if (!has_flag && deadline == 0) {
    (void)pthread_cond_wait(cond, mutex);
    return;
  }
  uint64_t until = has_flag ? lk_now_ns() + FLAG_NS : deadline;
  if (deadline != 0 && deadline < until) until = deadline;
  const struct timespec at = lk_timespec(until);
  (void)pthread_cond_timedwait(cond, mutex, &at);
}
