/* What a fork must find whole. A child has one thread, the one that forked, and memory as it was: a lock that
 * another thread held would stay locked, and what it guards half done. So whoever owns a lock that
 * outlives a call enters it here: fork() takes them all first, in the order of their levels, and
 * gives them back in the parent and in the child. There, `child` is called before, to take out what
 * waits for threads that the child does not have.
 *
 * No host code and no allocator may be called by these functions: a child may be made while
 * another thread of the host is inside of them. What threads that are not there held, stays.
 * Any thread; but none that holds a lock which is entered here.
 */
#ifndef LK_BASE_FORK_H
#define LK_BASE_FORK_H

#include <pthread.h>

/* In the order in which they are taken: under one of these locks, only those of later levels are. */
typedef enum lk_fork_level {
  LK_FORK_ONEDNN, /* ops/plan/onednn.c */
  LK_FORK_CACHE,  /* keys/cache/fork.c */
  LK_FORK_LEAF,   /* under it, no other of these locks is taken */
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

/* `entry` is the owner's, and stays where it is. Entering it again has no effect. */
void lk_fork_enter(lk_fork_entry *entry);
/* Returns when no fork is under way; before the lock is destroyed. One that was not entered is allowed. */
void lk_fork_leave(lk_fork_entry *entry);

#endif
