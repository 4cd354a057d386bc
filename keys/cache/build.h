/* Builds: calling them, and telling a thread that would build what it is building already. */
#pragma once

#include "keys/cache/account.h"

/* Calls `build` and makes an entry that is linked nowhere; counts. `error` is filled on failure. */
lk_status lk_build(lk_cache *cache, lk_quota *quota, const lk_key *key, lk_build_fn build,
                   void *arg, lk_entry **out_entry, lk_looked *looked, lk_error *error);
/* LK_CYCLE when the calling thread is building `key`. */
lk_status lk_build_check(const lk_cache *cache, const lk_key *key, lk_error *error);
/* Fails with LK_CYCLE: what the calling thread builds asks for `key`, which waits for it. */
lk_status lk_build_fail_cycle(const lk_cache *cache, const lk_key *key, lk_error *error);
