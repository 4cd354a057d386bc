/* One lock of the process, shared by threads that build, exclusive for a fork. */
#include "ops/engine/guard.h"

#include <pthread.h>

#include "base/fork.h"

/* Writers first: threads that build one value after another would keep a fork waiting. */
#define FREE PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_rwlock_t lock = FREE;

static void close_to_all(void *unused) {
  (void)unused;
  (void)pthread_rwlock_wrlock(&lock);
}

static void open_in_parent(void *unused) {
  (void)unused;
  (void)pthread_rwlock_unlock(&lock);
}

/* The lock still counts threads that waited in the parent; the child does not have them, and begins
 * with a new lock. */
static void open_in_child(void *unused) {
  static const pthread_rwlock_t is_free = FREE;
  (void)unused;
  lock = is_free;
}

static void enter(void) {
  static lk_fork_entry entry = {.level = LK_FORK_ENGINES,
                                .before = close_to_all,
                                .parent = open_in_parent,
                                .child = open_in_child};
  lk_fork_enter(&entry);
}

void lk_guard_begin(void) {
  (void)pthread_once(&once, enter);
  (void)pthread_rwlock_rdlock(&lock);
}

void lk_guard_end(void) {
  (void)pthread_rwlock_unlock(&lock);
}
