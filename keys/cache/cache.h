/* The cache: keys to reference-counted values, in two modes, with budgets.
 *
 * Shared mode: a sharded table for all threads, and before it a front table for each thread, which
 * answers hits without waiting for anybody, and has the values whose keys name a thread. Per-thread
 * mode: a table for each thread and nothing else. Off: nothing is kept.
 *
 * A thread's table has a busy flag. Its thread holds it while it looks, adds or removes, which is
 * short: never while a value is built or destroyed. Whoever wants to remove entries from the table
 * of another thread, which may sleep or build, takes the flag and does it.
 */
#pragma once

#include "keys/cache/ref.h"
#include "keys/cache/stats.h"

lk_status lk_cache_create(const lk_allocator *allocator, uint32_t mode, uint64_t entries,
                          uint64_t bytes, lk_cache **out_cache, lk_error *error);
void lk_cache_destroy(lk_cache *cache); /* no thread may be inside a call; NULL is allowed */
uint32_t lk_cache_mode_get(const lk_cache *cache);
/* Where the names in keys come from, which entries then use (intern.h); borrowed. NULL, as at
 * first: entries use none, and error sentences show numbers. To be set before anything is asked of
 * the cache. */
void lk_cache_set_words(lk_cache *cache, lk_intern *words);
/* See lk_event_fn in latchkey/cache.h. Before anything is asked of the cache. */
void lk_cache_set_event(lk_cache *cache, lk_event_fn event, void *user);

lk_status lk_quota_create(lk_cache *cache, lk_quota **out_quota, lk_error *error);
/* Drops the executor's entries from every thread's tables. The quota itself goes with its last
 * entry, which may still be in use. NULL is allowed. */
void lk_quota_destroy(lk_quota *quota);

/* See get_or_create in latchkey.h. The kind is the key's (head.kind). `quota` NULL: the context's
 * only. `build` runs outside every lock that another key needs, and may ask for other keys.
 * A value that does not fit the limits is handed to the caller alone. A call that waited for
 * another thread's build is a miss and a wait, not a hit. */
lk_status lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *key, lk_build_fn build,
                       void *arg, lk_ref **out_ref, int *out_hit, lk_error *error);

/* See cache_find in latchkey.h. `quota` (or NULL) counts a miss; a hit is the entry's. */
lk_status lk_cache_find(lk_cache *cache, lk_quota *quota, const lk_key *key, lk_ref **out_ref,
                        lk_error *error);

/* The value has `bytes` bytes from now on. */
void lk_ref_charge(lk_ref *ref, uint64_t bytes);
/* `quota` NULL: the context. LK_UNSET leaves one as it is. */
void lk_cache_set_capacity(lk_cache *cache, lk_quota *quota, uint64_t entries, uint64_t bytes);
void lk_cache_clear(lk_cache *cache, lk_quota *quota);
