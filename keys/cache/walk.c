/* All linked entries of a cache, in both modes: seeing them, and unlinking them. */
#include "keys/cache/walk.h"

#include "keys/cache/account.h"
#include "keys/cache/entry.h"
#include "keys/cache/thread_table.h"

/* Those that are linked in `table`; it may list handles of others. */
static void each_of(const lk_table *table, lk_see_fn see, void *arg) {
  for (lk_table_node *node = lk_table_first(table), *next = NULL; node != NULL; node = next) {
    lk_ref *ref = (lk_ref *)node;
    next = lk_table_next(node);
    if (ref == &ref->entry->self) see(arg, ref->entry);
  }
}

void lk_each_entry(lk_cache *cache, lk_see_fn see, void *arg) {
  for (size_t i = 0; cache->mode == LK_CACHE_SHARED && i < LK_SHARDS; i++) {
    lk_shard *shard = &cache->shards[i];
    pthread_mutex_lock(&shard->lock);
    each_of(&shard->table, see, arg);
    pthread_mutex_unlock(&shard->lock);
  }
  for (lk_thread_table *table = cache->tables; table != NULL; table = table->cache_next) {
    /* so that fronts are left alone, which answer hits as long as nobody has them */
    if (atomic_load_explicit(&table->own, memory_order_relaxed) == 0) continue;
    lk_thread_table_lock(table);
    each_of(&table->table, see, arg);
    lk_thread_table_unlock(table);
  }
}

static void unlink_from_shard(lk_entry *entry, bool eviction, lk_garbage *garbage) {
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  lk_entry_leave_park(entry);
  lk_table_remove(&shard->table, &entry->self.node);
  lk_account_unlink(entry, eviction);
  lk_garbage_take(garbage, &entry->self);
}

void lk_entry_unlink(lk_entry *entry, bool eviction, lk_garbage *garbage) {
  if (entry->table == NULL) {
    unlink_from_shard(entry, eviction, garbage);
  } else {
    lk_thread_table_unlink(entry, eviction, garbage);
  }
}

bool lk_entry_evict(lk_entry *entry, bool used, lk_garbage *garbage) {
  lk_thread_table *table = entry->table;
  const bool is_shared = table == NULL;
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  if (is_shared) pthread_mutex_lock(&shard->lock);
  if (!is_shared) lk_thread_table_lock(table);
  const bool goes = used || lk_entry_users(entry) == 0;
  if (goes) lk_entry_unlink(entry, true, garbage);
  if (is_shared) pthread_mutex_unlock(&shard->lock);
  if (!is_shared) lk_thread_table_unlock(table);
  return goes;
}
