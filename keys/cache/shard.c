/* Shards: the tables of shared mode. */
#include "keys/cache/shard.h"

#include "keys/cache/account.h"
#include "keys/cache/entry.h"
#include "keys/cache/tick.h"

lk_entry *lk_shard_find(lk_shard *shard, const lk_key *key) {
  lk_entry *entry = (lk_entry *)lk_table_find(&shard->table, key);
  if (entry == NULL) return NULL;
  atomic_fetch_add_explicit(&entry->self.refs, 1, memory_order_relaxed);
  atomic_store_explicit(&entry->self.tick, lk_cache_tick(entry->cache), memory_order_relaxed);
  return entry;
}

void lk_shard_unlink(lk_entry *entry, bool eviction, lk_garbage *garbage) {
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  lk_table_remove(&shard->table, &entry->self.node);
  lk_account_unlink(entry, eviction);
  atomic_store_explicit(&entry->linked, 0, memory_order_relaxed);
  lk_garbage_add(garbage, &entry->self);
}
