#include "base/stop.h"

#include "base/clock.h"

static _Thread_local uint64_t asked_ns __attribute__((tls_model("initial-exec")));

void lk_stop_init(lk_stop *stop, const lk_wait_limit *limit, lk_should_stop_fn ask, void *arg) {
  *stop = (lk_stop){.limit = *limit, .ask = ask, .arg = arg, .owner = pthread_self()};
}

void lk_stop_delay(void) {
  asked_ns = lk_now_ns();
}

/* Whether the host, when it is time to ask it, wants to stop. `before_ns`: when this thread asked
 * last before this look. */
static bool is_told(lk_stop *stop, uint64_t before_ns) {
  if (stop->ask == NULL || pthread_equal(stop->owner, pthread_self()) == 0) return false;
  if (lk_now_ns() - before_ns < LK_STOP_ASK_NS) return false;
  const bool stops = stop->ask(stop->arg) != 0;
  lk_stop_delay();
  return stops;
}

/* All of them are asked at a time: the inner one does not keep the outer ones from it. */
static int look(lk_stop *stop, uint64_t before_ns) {
  int why = __atomic_load_n(&stop->reached, __ATOMIC_RELAXED);
  if (why != 0) return why;
  why = lk_wait_limit_reached(&stop->limit);
  if (why == 0 && is_told(stop, before_ns)) why = LK_WAIT_CANCELLED;
  if (why == 0 && stop->outer != NULL) why = look(stop->outer, before_ns);
  if (why != 0) __atomic_store_n(&stop->reached, why, __ATOMIC_RELAXED);
  return why;
}

int lk_stop_look(lk_stop *stop) {
  return look(stop, asked_ns);
}
