/* Fronts: in shared mode, a thread's table lies before the shards and lists handles of this thread
 * alone. */
#pragma once

#include "keys/cache/state.h"

/* Turns the caller's reference to an entry into one to a handle of this thread's front, and lists
 * it there. Where that is not possible, the reference stays what it is. */
lk_ref *lk_front_take(lk_thread_table *front, lk_entry *entry);
/* Takes what is no longer linked out of all fronts. The caller holds `sweep`. */
void lk_fronts_sweep(lk_cache *cache, lk_garbage *garbage);
