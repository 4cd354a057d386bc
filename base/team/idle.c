/* Idle teams. Explored in tests/promela/team.pml. */
#include "base/team/idle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/team/budget.h"

/* Where runs follow each other, one team goes from run to run by one exchange each way. */
static _Atomic(lk_idle *) used_last;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static lk_idle *others;
static int n_threads; /* of `others` */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void) {
  pthread_mutex_lock(&mutex);
}

static void after_fork(void) {
  pthread_mutex_unlock(&mutex);
}

/* The child has none of its parent's threads, and locks that they held stay locked. So what is left
 * of the teams is not touched. */
static void in_child(void) {
  atomic_store(&used_last, NULL);
  others = NULL;
  n_threads = 0;
  pthread_mutex_unlock(&mutex);
}

static void start(void) {
  (void)pthread_atfork(before_fork, after_fork, in_child);
}

lk_idle *lk_idle_take(void) {
  pthread_once(&once, start);
  lk_idle *taken = atomic_exchange(&used_last, NULL);
  if (taken != NULL) return taken;
  pthread_mutex_lock(&mutex);
  taken = others;
  if (taken != NULL) {
    others = taken->next;
    n_threads -= taken->threads;
  }
  pthread_mutex_unlock(&mutex);
  return taken;
}

lk_idle *lk_idle_put(lk_idle *idle) {
  lk_idle *before = atomic_exchange(&used_last, idle);
  if (before == NULL) return NULL;
  pthread_mutex_lock(&mutex);
  if (n_threads + before->threads <= lk_budget_processors()) {
    before->next = others;
    others = before;
    n_threads += before->threads;
    before = NULL;
  }
  pthread_mutex_unlock(&mutex);
  return before;
}
