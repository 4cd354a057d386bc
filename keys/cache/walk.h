/* All linked entries of a cache, in both modes: seeing them, and unlinking them. */
#pragma once

#include "keys/cache/state.h"

/* Calls `see` for each linked entry, with its place locked: `see` may unlink it. The caller holds
 * `tables`. */
typedef void (*lk_see_fn)(void *arg, lk_entry *entry);
void lk_each_entry(lk_cache *cache, lk_see_fn see, void *arg);

/* Takes an entry out of its place, which is locked. Fronts still list it (lk_fronts_leave). The
 * caller holds `tables`, as whoever unlinks does: what is linked stays linked meanwhile. */
void lk_entry_unlink(lk_entry *entry, bool eviction, lk_garbage *garbage);
/* The same with the place not locked, and only while nobody uses the entry, unless `used`. True: it
 * went. */
bool lk_entry_evict(lk_entry *entry, bool used, lk_garbage *garbage);
