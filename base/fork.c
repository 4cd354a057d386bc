/* The list of locks that a fork takes, and the handlers that walk it. */
#include "base/fork.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER; /* from before a fork until after it */
static lk_fork_entry *entries[LK_FORK_N_LEVELS];

/* A child that is made while another thread is inside `once` runs it again. From then on the
 * handlers may be there twice, and only the outer ones work. */
static _Thread_local unsigned depth;

static void before(void) {
  if (depth++ > 0) return;
  pthread_mutex_lock(&list);
  for (int level = 0; level < LK_FORK_N_LEVELS; level++) {
    for (lk_fork_entry *entry = entries[level]; entry != NULL; entry = entry->next) {
      if (entry->mutex != NULL) pthread_mutex_lock(entry->mutex);
      if (entry->before != NULL) entry->before(entry->object);
    }
  }
}

static void after(bool is_child) {
  if (--depth > 0) return;
  for (int level = LK_FORK_N_LEVELS - 1; level >= 0; level--) {
    for (lk_fork_entry *entry = entries[level]; entry != NULL; entry = entry->next) {
      void (*end)(void *object) = is_child ? entry->child : entry->parent;
      if (end != NULL) end(entry->object);
      if (entry->mutex != NULL) pthread_mutex_unlock(entry->mutex);
    }
  }
  pthread_mutex_unlock(&list);
}

static void parent(void) {
  after(false);
}

static void child(void) {
  after(true);
}

/* Where there is no memory for handlers, a fork is as it would be without them. */
static void start(void) {
  (void)pthread_atfork(before, parent, child);
}

void lk_fork_enter(lk_fork_entry *entry) {
  /* Registered when the first lock is entered, not when the library is loaded: handlers that the
   * host has registered before, its allocator's say, take their locks after ours. */
  (void)pthread_once(&once, start);
  pthread_mutex_lock(&list);
  if (entry->link == NULL) LK_LIST_ADD(entries[entry->level], entry, next, link);
  pthread_mutex_unlock(&list);
}

void lk_fork_leave(lk_fork_entry *entry) {
  pthread_mutex_lock(&list);
  if (entry->link != NULL) {
    LK_LIST_REMOVE(entry, next, link);
    entry->link = NULL;
  }
  pthread_mutex_unlock(&list);
}
