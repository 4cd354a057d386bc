/* Around what engines open, build and destroy: meanwhile they may hold locks of their own, and fill
 * tables at their first use. A fork waits until no other thread is between these two, and none
 * enters meanwhile. Runs and what is found in the cache do not enter. One pair may stand within
 * another. */
#pragma once

#include <pthread.h>

void lk_guard_begin(void);
void lk_guard_end(void);

/* Locks a mutex within such a pair, and ends both: so a child of a fork finds it free. */
void lk_guard_lock(pthread_mutex_t *of);
void lk_guard_unlock(pthread_mutex_t *of);
