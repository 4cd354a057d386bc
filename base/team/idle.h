/* Teams that nobody needs at the moment, for the whole process. The last one that was put back is
 * the first to be taken: its threads are the likeliest to be awake, and its memory to be in a
 * cache. Besides that one, no more threads are kept idle than there are processors.
 */
#pragma once

/* The first member of what is kept. */
typedef struct lk_idle {
  struct lk_idle *next;
  int threads; /* how many of its own it has; set by who puts it back */
} lk_idle;

/* NULL: no team is idle. */
lk_idle *lk_idle_take(void);

/* Keeps it. Returns one that is too many, for the caller to destroy, or NULL. */
lk_idle *lk_idle_put(lk_idle *idle);
