/* Dropping entries because their owner goes or asks for it, however much room there is. No lock is
 * held. */
#pragma once

#include "keys/cache/state.h"

/* Unlinks all entries, of one quota or (NULL) of all. */
void lk_drop_all(lk_cache *cache, const lk_quota *quota, bool eviction);
/* Unlinks the entries of one quota, and the values that this leaves without a user. These are
 * primitives, which have no owner, but which nobody else has asked for. */
void lk_drop_executor(lk_cache *cache, const lk_quota *quota);
