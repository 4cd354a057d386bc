/* What ends a computation early: the host's flags, its deadline, or what it answers when asked.
 * Once reached, it stays so. Any thread may look; the host is asked on one thread alone. */
#pragma once

#include <latchkey/threads.h>
#include <pthread.h>

#include "base/wait_limit.h"

/* Between two questions of one thread to the host, whatever it computes. The host may have to wait
 * for a lock of its own before it can answer, so it is not often. */
#define LK_STOP_ASK_NS UINT64_C(40000000)

typedef struct lk_stop {
  lk_wait_limit limit;
  lk_should_stop_fn ask; /* NULL: nobody is asked */
  void *arg;
  pthread_t owner;       /* the thread that asks */
  int reached;           /* 0, LK_WAIT_CANCELLED or LK_WAIT_DEADLINE; read and written atomically */
  struct lk_stop *outer; /* ends this one too, as long as both live; NULL: none */
} lk_stop;

/* For what this thread computes. */
void lk_stop_init(lk_stop *stop, const lk_wait_limit *limit, lk_should_stop_fn ask, void *arg);
/* This thread asks its host again in LK_STOP_ASK_NS at the earliest. */
void lk_stop_delay(void);
/* Looks at all of it, and of the outer ones. Returns `reached`. */
int lk_stop_look(lk_stop *stop);
/* Whether there is anything to look at. */
static inline bool lk_stop_is_set(const lk_wait_limit *limit, lk_should_stop_fn ask) {
  return limit->cancel != NULL || limit->stop != NULL || limit->deadline_ns != 0 || ask != NULL;
}
