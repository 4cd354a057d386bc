/* Pending builds: those under way whose values are to be kept, so that who drops a key reaches
 * them, too. A value whose key was dropped since its build began goes to those who have asked
 * for it, and is not kept. */
#pragma once

#include "keys/cache/state.h"

typedef struct lk_pending {
  lk_cache *cache;
  lk_quota *quota;       /* or NULL */
  const lk_key *key;     /* the builder's; valid while this is listed */
  lk_table_node *flight; /* the lk_flight of those who wait; NULL: the value is a thread's */
  /* 1: the key was dropped. Written under the shard. Read under it, or, where the value is a
   * thread's, under the busy flag of its table, which who drops a key takes afterwards. */
  _Atomic uint32_t dropped;
  struct lk_pending *outer;        /* the same thread's, around this one */
  struct lk_pending *next, **link; /* guarded by the shard */
} lk_pending;

/* Begins a pending build of the calling thread. The key's shard is locked. */
void lk_pending_begin(lk_pending *pending, lk_cache *cache, lk_quota *quota, const lk_key *key,
                      lk_table_node *flight);
/* Ends the calling thread's innermost one. The same. */
void lk_pending_end(lk_pending *pending);
static inline bool lk_pending_is_dropped(const lk_pending *pending) {
  return atomic_load_explicit(&pending->dropped, memory_order_relaxed) != 0;
}

/* Drops `key` for the builds that are pending, of one quota or (NULL) of all: who asks from now on
 * does not find their flights. The key's shard is locked. */
void lk_pending_drop(lk_shard *shard, const lk_quota *quota, const lk_key *key);

/* For a child of fork, which has the calling thread alone: lists its pending builds, and no
 * others. */
void lk_pending_forget_others(void);
