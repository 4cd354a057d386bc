/* The caches over a fork: all their locks are taken before, and the child is left with what its one
 * thread has. */
#pragma once

/* Before the first cache of the process; again has no effect. */
void lk_cache_fork_enter(void);
