/* Budgets: which entries go when there are too many, or too many bytes. */
#pragma once

#include "keys/cache/state.h"

/* Evicts until `bytes` more in `entries` more entries fit, for the cache and the quota (or NULL).
 * With both 0: until the limits hold. False: that is more than a limit, so it will never fit. No
 * lock is held. */
bool lk_make_room(lk_cache *cache, lk_quota *quota, uint64_t entries, uint64_t bytes);
