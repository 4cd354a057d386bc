/* Locks over a fork. A child has one thread, the one that forked, and memory as it was. A lock that
 * another thread held would stay locked for ever, and what it guards would stay half done. So
 * whoever owns a lock that outlives a call enters it here: fork() takes all of them first, in the
 * order of their levels, and gives them back in the parent and in the child. In the child, `child`
 * is called before that, to take out what waits for threads that the child does not have.
 *
 * These functions may call neither host code nor an allocator: another thread of the host may have
 * been inside one when the child was made. What the missing threads owned is never freed. Any
 * thread may call these, but none that holds a lock which is entered here.
 */
#pragma once

#include <pthread.h>

/* In the order in which they are taken: under one of these locks, only those of later levels
 * are. */
typedef enum lk_fork_level {
  LK_FORK_ENGINES, /* ops/engine/guard.c: builds may take all others */
  LK_FORK_CACHE,   /* keys/cache/fork.c */
  LK_FORK_LEAF,    /* under it, no other of these locks is taken */
  LK_FORK_N_LEVELS
} lk_fork_level;

typedef struct lk_fork_entry {
  /* set by its owner; each but `level` may be NULL */
  lk_fork_level level;
  pthread_mutex_t *mutex;
  void (*before)(void *object);
  void (*parent)(void *object); /* undoes `before` */
  void (*child)(void *object);  /* the same, and repairs */
  void *object;
  /* fork.c's, zero at first */
  struct lk_fork_entry *next, **link;
} lk_fork_entry;

/* `entry` is the owner's, and must not move. Entering it again has no effect. */
void lk_fork_enter(lk_fork_entry *entry);
/* To be called before the lock is destroyed. Waits for a fork that is under way. `entry` may be one
 * that was not entered. */
void lk_fork_leave(lk_fork_entry *entry);
