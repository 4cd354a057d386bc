/* Fronts: in shared mode, a thread's table lies before the shards and lists handles of this thread
 * alone. */
#pragma once

#include "keys/cache/state.h"

/* Turns the caller's reference to an entry into one to a handle of this thread's front, and lists
 * it there. Where that is not possible, the reference stays what it is. */
lk_ref *lk_front_take(lk_thread_table *front, lk_entry *entry);
/* Takes an entry that is no longer linked out of the fronts that list it. The caller has a
 * reference, and holds `tables` and nothing below. */
void lk_fronts_leave(lk_entry *entry, lk_garbage *garbage);
