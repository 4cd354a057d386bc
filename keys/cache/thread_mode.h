/* Per-thread mode, behind a miss in the calling thread's table: the thread builds for itself. */
#pragma once

#include "keys/cache/state.h"

lk_status lk_thread_mode_get(lk_thread_table *table, lk_quota *quota, const lk_key *key,
                             lk_build_fn build, void *arg, lk_ref **out_ref, lk_error *error);
