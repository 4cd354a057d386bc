/* Dropping one key, wherever it is. */
#pragma once

#include "keys/cache/ref.h"

/* See cache_drop in latchkey.h: unlinks the entries of `key`, of one quota or (NULL) of all, and
 * returns how many. What is being built for it now is not kept, and not found by who asks later. */
uint64_t lk_cache_drop(lk_cache *cache, const lk_quota *quota, const lk_key *key);
