#include "base/stop.h"

#include "base/clock.h"

static _Thread_local uint64_t asked_ns __attribute__((tls_model("initial-exec")));

void lk_stop_init(lk_stop *stop, const lk_wait_limit *limit, lk_should_stop_fn ask, void *arg) {
  *stop = (lk_stop){.limit = *limit, .ask = ask, .arg = arg, .owner = pthread_self()};
}

void lk_stop_delay(void) {
  asked_ns = lk_now_ns();
}

/* One look. The clock is read once for all that are asked: kernels look often. */
typedef struct glance {
  uint64_t before_ns; /* when this thread asked last before this look */
  uint64_t now_ns;    /* 0: not read yet */
} glance;

static bool is_time(glance *at) {
  if (at->now_ns == 0) at->now_ns = lk_now_ns();
  return at->now_ns - at->before_ns >= LK_STOP_ASK_NS;
}

/* Whether the host, when it is time to ask it, wants to stop. */
static bool is_told(lk_stop *stop, glance *at) {
  if (stop->ask == NULL || pthread_equal(stop->owner, pthread_self()) == 0) return false;
  if (!is_time(at)) return false;
  const bool stops = stop->ask(stop->arg) != 0;
  lk_stop_delay();
  return stops;
}

/* All of them are asked at a time: the inner one does not keep the outer ones from it. */
static int look(lk_stop *stop, glance *at) {
  int why = __atomic_load_n(&stop->reached, __ATOMIC_RELAXED);
  if (why != 0) return why;
  why = lk_wait_limit_reached(&stop->limit);
  if (why == 0 && is_told(stop, at)) why = LK_WAIT_CANCELLED;
  if (why == 0 && stop->outer != NULL) why = look(stop->outer, at);
  if (why != 0) __atomic_store_n(&stop->reached, why, __ATOMIC_RELAXED);
  return why;
}

int lk_stop_look(lk_stop *stop) {
  glance at = {.before_ns = asked_ns};
  return look(stop, &at);
}
