/* The list of listeners: one that is called cannot leave, the others can. */
#include "keys/cache/listeners.h"

#include <pthread.h>

#include "base/fork.h"
#include "base/list.h"
#include "keys/cache/state.h"

/* What `opaque` of an lk_listener has. */
typedef struct entry {
  struct entry *next, **link; /* `link` is NULL: it is not in the list */
  lk_listener *listener;
  lk_cache *cache;
  uint32_t n_calls; /* that are on */
} entry;
_Static_assert(sizeof(entry) <= sizeof(((lk_listener *)0)->opaque), "an entry has room");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;
static entry *first; /* those of all caches: there are few */

/* The threads that were in a call are not in the child. */
static void forget_calls(void *object) {
  (void)object;
  for (entry *each = first; each != NULL; each = each->next) each->n_calls = 0;
  returned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

static lk_fork_entry over_fork = {.level = LK_FORK_LEAF, .mutex = &mutex, .child = forget_calls};

static entry *entry_of(lk_listener *listener) {
  return (entry *)listener->opaque;
}

void lk_listener_enter(lk_cache *cache, lk_listener *listener) {
  entry *self = entry_of(listener);
  lk_fork_enter(&over_fork);
  pthread_mutex_lock(&mutex);
  *self = (entry){.listener = listener, .cache = cache};
  LK_LIST_ADD(first, self, next, link);
  atomic_fetch_add_explicit(&cache->n_listeners, 1, memory_order_relaxed);
  pthread_mutex_unlock(&mutex);
}

void lk_listener_leave(lk_listener *listener) {
  entry *self = entry_of(listener);
  pthread_mutex_lock(&mutex);
  if (self->link != NULL) {
    while (self->n_calls > 0) pthread_cond_wait(&returned, &mutex);
    LK_LIST_REMOVE(self, next, link);
    self->link = NULL;
    atomic_fetch_sub_explicit(&self->cache->n_listeners, 1, memory_order_relaxed);
  }
  pthread_mutex_unlock(&mutex);
}

void lk_listeners_tell(lk_cache *cache, const lk_event_info *info) {
  pthread_mutex_lock(&mutex);
  for (entry *each = first; each != NULL; each = each->next) {
    if (each->cache != cache) continue;
    each->n_calls++; /* so that it stays in the list while the lock is free */
    pthread_mutex_unlock(&mutex);
    each->listener->event(each->listener->user, info);
    pthread_mutex_lock(&mutex);
    if (each->n_calls > 0) each->n_calls--; /* none are on where this thread has forked within it */
    pthread_cond_broadcast(&returned);
  }
  pthread_mutex_unlock(&mutex);
}
