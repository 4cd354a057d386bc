/* The caches over a fork: all their locks are taken before, and the child is left with what its one
 * thread has. */
#ifndef LK_KEYS_CACHE_FORK_H
#define LK_KEYS_CACHE_FORK_H

/* Before the first cache of the process; again has no effect. */
void lk_cache_fork_enter(void);

#endif
