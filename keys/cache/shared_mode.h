/* Shared mode, behind a miss in the calling thread's front: the shards, and one build for all who
 * ask. */
#pragma once

#include "keys/cache/account.h"

/* What is there, with a reference for the caller, and counts a hit or a miss. NULL: nothing, also
 * while another thread builds it. */
lk_ref *lk_shared_mode_find(lk_thread_table *front, lk_quota *quota, const lk_key *key,
                            lk_looked *looked);
lk_status lk_shared_mode_get(lk_thread_table *front, lk_quota *quota, const lk_key *key,
                             lk_build_fn build, void *arg, lk_ref **out_ref, lk_looked *looked,
                             lk_error *error);
