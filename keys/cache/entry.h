/* Entries: their life, how they come into a table, who uses them, and their handles. */
#pragma once

#include "keys/cache/state.h"

/* Takes over `built`: it is destroyed when there is no memory. The caller has the one reference;
 * the last one that is released destroys the entry. */
lk_status lk_entry_create(lk_cache *cache, lk_quota *quota, const lk_key *key,
                          const lk_built *built, lk_entry **out_entry, lk_error *error);
/* What an entry is charged: its value, its key and itself. */
uint64_t lk_entry_charge_of(const lk_key *key, uint64_t value_bytes);
/* Before its cache, or the owner of the quota (NULL: all quotas), ends within the end of a value:
 * ends those of it that this thread has put off, since values were nested too deep. */
void lk_entries_end_waiting(const lk_cache *cache, const lk_quota *quota);
/* Puts a new entry into the table of its place, which is locked. False: it does not fit now, make
 * room and try again. True, and it is not linked: there was no memory, so it stays the callers'
 * alone. */
bool lk_entry_link(lk_entry *entry, lk_table *table, uint64_t tick);
/* References besides the cache's and its fronts'. The shard of an entry of one must be locked. */
uint32_t lk_entry_users(const lk_entry *entry);
uint64_t lk_entry_tick(const lk_entry *entry); /* the same */
uint64_t lk_entry_hits(const lk_entry *entry); /* the same */
/* Those of them that handles in fronts have counted and not yet handed over. The same. */
uint64_t lk_entry_front_hits(const lk_entry *entry);

/* Adds a front's handle, which leaves when its last reference is released. Locks the shard. False:
 * the entry is no longer linked, so that no front must list it. */
bool lk_entry_add_handle(lk_entry *entry, lk_ref *handle);
/* For who has unlinked an entry, and holds a reference and `tables`: the front of one more of its
 * handles, which may list it. NULL: there is no more. Locks the shard. */
lk_thread_table *lk_entry_next_front(lk_entry *entry);

/* Parks a linked entry while it is in use: the clocks' hands do not come to it until its last user
 * has gone. False: it is not in use. The shard is locked. */
bool lk_entry_park(lk_entry *entry);
/* Before an entry is unlinked. The shard is locked. */
void lk_entry_leave_park(lk_entry *entry);

/* Turns the reference that a table had, which no longer lists it, into one of the garbage: of an
 * entry that was unlinked, or a handle that its front does not list any more. */
void lk_garbage_take(lk_garbage *garbage, lk_ref *ref);
/* Tells of the entries that were unlinked. No lock is held. */
void lk_garbage_release(lk_garbage *garbage);
