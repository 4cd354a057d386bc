/* Dropping one key, wherever it is: in a shard and the fronts before it, in the tables of threads,
 * and in builds that are pending. */
#include "keys/cache/drop.h"

#include "keys/cache/entry.h"
#include "keys/cache/front.h"
#include "keys/cache/pending.h"
#include "keys/cache/thread_table.h"
#include "keys/cache/walk.h"

/* What goes, and whose it must be: of one quota or (NULL) of all. */
typedef struct drop {
  const lk_quota *quota;
  const lk_key *key;
  uint64_t count;
  lk_garbage entries, handles;
} drop;

/* Unlinks the entry that `table` has for the key, and returns it, or NULL. The caller has locked
 * the table, and holds `tables`. */
static lk_entry *unlink_from(drop *of, const lk_table *table) {
  lk_ref *found = (lk_ref *)lk_table_find(table, of->key);
  if (found == NULL || (of->quota != NULL && found->entry->quota != of->quota)) return NULL;
  lk_entry_unlink(found->entry, false, &of->entries);
  of->count++;
  return found->entry;
}

/* Pending builds go first: what one of them links later was not dropped, what it has linked by now
 * is found below. The same holds for the tables of threads. */
static void drop_shared(lk_shard *shard, drop *of) {
  pthread_mutex_lock(&shard->lock);
  lk_pending_drop(shard, of->quota, of->key);
  lk_entry *entry = unlink_from(of, &shard->table);
  pthread_mutex_unlock(&shard->lock);
  if (entry != NULL) lk_fronts_leave(entry, &of->handles);
}

static void drop_of_threads(lk_cache *cache, lk_shard *shard, drop *of) {
  pthread_mutex_lock(&shard->lock);
  lk_pending_drop(shard, of->quota, of->key);
  pthread_mutex_unlock(&shard->lock);
  for (lk_thread_table *table = cache->tables; table != NULL; table = table->cache_next) {
    lk_thread_table_lock(table);
    (void)unlink_from(of, &table->table);
    lk_thread_table_unlock(table);
  }
}

uint64_t lk_cache_drop(lk_cache *cache, const lk_quota *quota, const lk_key *asked) {
  lk_key key = *asked;
  lk_key_complete(&key);
  drop of = {.quota = quota, .key = &key};
  lk_shard *shard = lk_shard_of(cache, &key);
  pthread_mutex_lock(&cache->tables_lock);
  if (lk_is_of_thread(cache, &key)) {
    drop_of_threads(cache, shard, &of);
  } else {
    drop_shared(shard, &of);
  }
  pthread_mutex_unlock(&cache->tables_lock);
  lk_garbage_release(&of.handles);
  lk_garbage_release(&of.entries);
  return of.count;
}
