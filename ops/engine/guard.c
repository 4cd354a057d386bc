/* Who is inside an engine, counted for the process, and a fork that waits for them. */
#include "ops/engine/guard.h"

#include <stdbool.h>

#include "base/fork.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* from before a fork until after it */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned inside;              /* threads */
static bool forks;                   /* nobody enters */
static _Thread_local unsigned depth; /* of this thread's pairs */

/* A thread may fork within an engine of a host's: it does not wait for itself. */
static unsigned own(void) {
  return depth > 0 ? 1 : 0;
}

static void before(void *unused) {
  (void)unused;
  (void)pthread_mutex_lock(&mutex);
  forks = true;
  while (inside > own()) (void)pthread_cond_wait(&changed, &mutex);
}

static void open_to_all(void) {
  forks = false;
  (void)pthread_cond_broadcast(&changed);
  (void)pthread_mutex_unlock(&mutex);
}

static void parent(void *unused) {
  (void)unused;
  open_to_all();
}

/* Those who waited in the parent are not there, so what counts them begins anew. */
static void child(void *unused) {
  static const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
  (void)unused;
  changed = fresh;
  inside = own();
  open_to_all();
}

static void enter(void) {
  static lk_fork_entry entry = {
      .level = LK_FORK_ENGINES, .before = before, .parent = parent, .child = child};
  lk_fork_enter(&entry);
}

void lk_guard_begin(void) {
  if (depth++ > 0) return;
  (void)pthread_once(&once, enter);
  (void)pthread_mutex_lock(&mutex);
  while (forks) (void)pthread_cond_wait(&changed, &mutex);
  inside++;
  (void)pthread_mutex_unlock(&mutex);
}

void lk_guard_end(void) {
  if (--depth > 0) return;
  (void)pthread_mutex_lock(&mutex);
  inside--;
  if (forks) (void)pthread_cond_broadcast(&changed);
  (void)pthread_mutex_unlock(&mutex);
}

void lk_guard_lock(pthread_mutex_t *of) {
  lk_guard_begin();
  (void)pthread_mutex_lock(of);
}

void lk_guard_unlock(pthread_mutex_t *of) {
  (void)pthread_mutex_unlock(of);
  lk_guard_end();
}
