/* What can be seen of the cache from outside: counters and entries. Any thread. */
#pragma once

#include "keys/cache/ref.h"

/* `quota` NULL: the context. Fills kind[], entries, bytes, peak_bytes, unlinked_bytes, capacities.
 * Bytes of an entry: its value's, its key's and the cache's own. Hits of a quota are those of its
 * entries, by whomever. */
void lk_cache_get_stats(lk_cache *cache, lk_quota *quota, lk_stats *out);
/* Calls `visit` outside all locks, in the order of age. LK_OUT_OF_MEMORY: not called at all. */
lk_status lk_cache_visit(lk_cache *cache, lk_visit_fn visit, void *arg, lk_error *error);
/* How many entries were looked at to make room, under the context's limits or the quota's. */
uint64_t lk_cache_looks(lk_cache *cache, lk_quota *quota);
