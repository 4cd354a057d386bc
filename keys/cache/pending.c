/* Pending builds: those under way whose values are to be kept. */
#include "keys/cache/pending.h"

#include "base/list.h"
#include "keys/cache/thread_table.h"

static void list(lk_pending *pending) {
  lk_shard *shard = lk_shard_of(pending->cache, pending->key);
  LK_LIST_ADD(shard->pending, pending, next, link);
}

void lk_pending_begin(lk_pending *pending, lk_cache *cache, lk_quota *quota, const lk_key *key,
                      lk_table_node *flight) {
  lk_thread *self = &lk_thread_self;
  pending->cache = cache;
  pending->quota = quota;
  pending->key = key;
  pending->flight = flight;
  atomic_init(&pending->dropped, 0);
  pending->outer = self->pending;
  self->pending = pending;
  list(pending);
}

void lk_pending_end(lk_pending *pending) {
  LK_LIST_REMOVE(pending, next, link);
  lk_thread_self.pending = pending->outer;
}

void lk_pending_drop(lk_shard *shard, const lk_quota *quota, const lk_key *key) {
  for (lk_pending *pending = shard->pending; pending != NULL; pending = pending->next) {
    if (lk_pending_is_dropped(pending) || !lk_key_equal(pending->key, key)) continue;
    if (quota != NULL && pending->quota != quota) continue;
    atomic_store_explicit(&pending->dropped, 1, memory_order_relaxed);
    if (pending->flight != NULL) lk_table_remove(&shard->flights, pending->flight);
  }
}

void lk_pending_forget_others(void) {
  /* Those of other threads lie in stacks that are gone: they are not read, the lists begin anew. */
  for (lk_cache *cache = lk_caches; cache != NULL; cache = cache->next) {
    for (size_t i = 0; i < LK_SHARDS; i++) cache->shards[i].pending = NULL;
  }
  for (lk_pending *pending = lk_thread_self.pending; pending != NULL; pending = pending->outer) {
    list(pending);
  }
}
