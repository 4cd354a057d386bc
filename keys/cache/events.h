/* Events: the host's callback is told what the cache has counted, and listeners what leaves it. No
 * lock is held.
 *
 * Whoever looks something up tells when it is over, since the callback may ask for the same key.
 * Who unlinks entries tells of each while it still has the table's reference, in an lk_garbage. */
#pragma once

#include "keys/cache/account.h"

static inline bool lk_has_events(const lk_cache *cache) {
  return __builtin_expect(cache->event != NULL, 0);
}

/* A hit in the calling thread's own table, which has counted it. There are events. */
void lk_tell_hit(const lk_ref *ref);
/* What was counted for `key`, which is complete. `ref` (or NULL): what the caller gets. */
void lk_tell_looked(const lk_cache *cache, const lk_key *key, const lk_ref *ref,
                    const lk_looked *looked);
/* An entry was unlinked, and the caller has a reference. */
void lk_tell_unlinked(const lk_entry *entry);

/* `key` as the host is shown it: it may ask for its own. Borrows the bytes. */
lk_key lk_key_shown(const lk_cache *cache, const lk_key *key);
