/* Entries: their life, how they come into a table, who uses them, and their handles. */
#pragma once

#include "keys/cache/state.h"

/* Takes over `built`: it is destroyed when there is no memory. The caller has the one reference;
 * the last one that is released destroys the entry. */
lk_status lk_entry_create(lk_cache *cache, lk_quota *quota, const lk_key *key,
                          const lk_built *built, lk_entry **out_entry, lk_error *error);
/* What an entry is charged: its value, its key and itself. */
uint64_t lk_entry_charge_of(const lk_key *key, uint64_t value_bytes);
/* Puts a new entry into the table of its place, which is locked. False: it does not fit now, make
 * room and try again. True with `linked` still 0: there was no memory, so it stays the callers'
 * alone. */
bool lk_entry_link(lk_entry *entry, lk_table *table);
/* References besides the cache's and its fronts'. The entry's place must be locked. */
uint32_t lk_entry_users(const lk_entry *entry);
uint64_t lk_entry_tick(const lk_entry *entry); /* the same */
/* Adds a front's handle, which leaves when its last reference is released. Locks the shard. */
void lk_entry_add_handle(lk_entry *entry, lk_ref *handle);

void lk_garbage_add(lk_garbage *garbage, lk_ref *ref);
void lk_garbage_release(lk_garbage *garbage); /* no lock is held */
