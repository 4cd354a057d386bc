/* One lock of the process: shared by those who create something in oneDNN, a fork's alone. */
#include "ops/plan/creation.h"

#include <pthread.h>

#include "base/fork.h"

/* Writers first: threads that create one primitive after another would keep a fork waiting. */
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

/* Who waited in the parent is counted in the lock, and does not come: it begins anew. */
static void open_in_child(void *unused) {
  static const pthread_rwlock_t is_free = FREE;
  (void)unused;
  lock = is_free;
}

static void start(void) {
  static lk_fork_entry entry = {.level = LK_FORK_ONEDNN,
                                .before = close_to_all,
                                .parent = open_in_parent,
                                .child = open_in_child};
  lk_fork_enter(&entry);
}

void lk_creation_begin(void) {
  (void)pthread_once(&once, start);
  (void)pthread_rwlock_rdlock(&lock);
}

void lk_creation_end(void) {
  (void)pthread_rwlock_unlock(&lock);
}
