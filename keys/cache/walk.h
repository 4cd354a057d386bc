/* All linked entries of a cache, in both modes: seeing them, and unlinking them. */
#pragma once

#include "keys/cache/state.h"

/* Calls `see` for each linked entry, with its place locked: `see` may unlink it. In per-thread mode
 * the caller holds `tables`. */
typedef void (*lk_see_fn)(void *arg, lk_entry *entry);
void lk_each_entry(lk_cache *cache, lk_see_fn see, void *arg);

/* Takes an entry out of its place, which is locked. The caller holds `sweep`. */
void lk_entry_unlink(lk_entry *entry, bool eviction, lk_garbage *garbage);
/* The same with the place not locked, and only while nobody uses the entry, unless `used`. True: it
 * went. The caller holds `sweep`, so that nobody else unlinks it, and `tables`, which holds up
 * threads that end. */
bool lk_entry_evict(lk_entry *entry, bool used, lk_garbage *garbage);
