/*
 * Teams that nobody needs at the moment, for the whole process: the last one that was given back is the
 * first to be taken, since its threads are the likeliest to be awake and its memory to be in a cache.
 * Besides that one, no more threads are kept idle than there are processors.
 */
#ifndef LK_BASE_TEAM_IDLE_H
#define LK_BASE_TEAM_IDLE_H

/* The first member of what is kept. */
typedef struct lk_idle {
  struct lk_idle *next;
  int threads; /* how many of its own it has; set by who gives it back */
} lk_idle;

/* NULL: none is idle. */
lk_idle *lk_idle_take(void);

/* Keeps it, and hands out one that is too much, for the caller to end; or NULL. */
lk_idle *lk_idle_give(lk_idle *idle);

#endif
