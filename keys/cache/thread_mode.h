/* Per-thread mode, behind a miss in the calling thread's table: the thread builds for itself. */
#ifndef LK_KEYS_CACHE_THREAD_MODE_H
#define LK_KEYS_CACHE_THREAD_MODE_H

#include "keys/cache/state.h"

lk_status lk_thread_mode_get(lk_thread_table *table, lk_quota *quota, const lk_key *key,
                             lk_build_fn build, void *arg, lk_ref **out_ref, lk_error *error);

#endif
