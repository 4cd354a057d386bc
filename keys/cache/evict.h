/* Which entries go: when there are too many, or too many bytes; and when their owner goes or asks
 * for it. No lock is held. */
#pragma once

#include "keys/cache/state.h"

/* Evicts until `bytes` more in `entries` more entries fit, for the cache and the quota (or NULL).
 * With both 0: until the limits hold. False: that is more than a limit, so it will never fit. */
bool lk_make_room(lk_cache *cache, lk_quota *quota, uint64_t entries, uint64_t bytes);

/* However much room there is: unlinks all entries, of one quota or (NULL) of all. */
void lk_drop_all(lk_cache *cache, const lk_quota *quota, bool eviction);
