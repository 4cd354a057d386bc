/* Listeners: who else is told what leaves a cache, from when they enter to when they leave
 * (cache.h). Telling them allocates nothing, and no lock is held while one is called. */
#pragma once

#include "keys/cache/state.h"

static inline bool lk_has_listeners(const lk_cache *cache) {
  return __builtin_expect(atomic_load_explicit(&cache->n_listeners, memory_order_relaxed) != 0, 0);
}

/* Calls all of the cache. */
void lk_listeners_tell(lk_cache *cache, const lk_event_info *info);
