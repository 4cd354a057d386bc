/* What can be seen of the cache from outside: counters and entries. */
#include "keys/cache/stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "keys/cache/account.h"
#include "keys/cache/entry.h"
#include "keys/cache/events.h"
#include "keys/cache/walk.h"

/* Hits that handles in threads' tables have counted and not yet handed over to the quota. */
static uint64_t listed_hits(const lk_entry *entry) {
  return entry->table == NULL ? lk_entry_front_hits(entry) : lk_entry_hits(entry);
}

typedef struct quota_hits {
  const lk_quota *quota;
  lk_stats *out;
} quota_hits;

static void add_quota_hits(void *arg, lk_entry *entry) {
  const quota_hits *sum = arg;
  if (entry->quota == sum->quota) sum->out->kind[entry->self.kind].hits += listed_hits(entry);
}

void lk_cache_get_stats(lk_cache *cache, lk_quota *quota, lk_stats *out) {
  lk_account *account = quota != NULL ? &quota->account : &cache->account;
  pthread_mutex_lock(&cache->accounts);
  memcpy(out->kind, account->kind, sizeof out->kind);
  out->entries = account->entries;
  out->bytes = account->bytes;
  out->peak_bytes = account->peak_bytes;
  out->unlinked_bytes = account->unlinked_bytes;
  out->capacity_entries = atomic_load_explicit(&account->limit_entries, memory_order_relaxed);
  out->capacity_bytes = atomic_load_explicit(&account->limit_bytes, memory_order_relaxed);
  pthread_mutex_unlock(&cache->accounts);

  pthread_mutex_lock(&cache->tables_lock);
  for (size_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    uint64_t hits = atomic_load_explicit(&account->folded_hits[kind], memory_order_relaxed);
    if (quota == NULL) {
      for (const lk_thread_table *table = cache->tables; table != NULL; table = table->cache_next) {
        hits += atomic_load_explicit(&table->hits[kind], memory_order_relaxed);
      }
    }
    out->kind[kind].hits = hits;
  }
  if (quota != NULL) lk_each_entry(cache, add_quota_hits, &(quota_hits){quota, out});
  pthread_mutex_unlock(&cache->tables_lock);
}

uint64_t lk_cache_looks(lk_cache *cache, lk_quota *quota) {
  const lk_account *account = quota != NULL ? &quota->account : &cache->account;
  pthread_mutex_lock(&cache->accounts);
  const uint64_t looks = account->clock.steps;
  pthread_mutex_unlock(&cache->accounts);
  return looks;
}

/* ---- visit ---- */

/* An entry as the visitor gets it. It has a copy of the key, which uses its names, not a reference
 * to the entry: the visitor is called when the entry may have been evicted, and a child of fork
 * would have all entries in use for ever. */
typedef struct shown {
  lk_key *key;
  uint64_t tick;
  lk_entry_info info;
} shown;

typedef struct snapshot {
  lk_cache *cache;
  shown *items;
  size_t count, capacity;
  bool failed;
} snapshot;

static void add_to_snapshot(void *arg, lk_entry *entry) {
  snapshot *all = arg;
  const lk_allocator *allocator = &all->cache->allocator;
  const lk_key shown_key = lk_key_shown(all->cache, &entry->key);
  lk_key *key = NULL;
  if (all->failed || !LK_GROW(allocator, all->items, all->count, all->capacity) ||
      lk_key_keep(allocator, all->cache->words, &entry->key, &key, NULL) != LK_OK) {
    all->failed = true;
    return;
  }
  key->names = shown_key.names;
  all->items[all->count++] = (shown){
      .key = key,
      .tick = lk_entry_tick(entry),
      .info = {.struct_size = sizeof(lk_entry_info),
               .key = key,
               .bytes = lk_account_charged(entry),
               .hits = lk_entry_hits(entry),
               .kind = entry->self.kind,
               .in_use = lk_entry_users(entry)},
  };
}

static int newest_first(const void *a, const void *b) {
  const uint64_t left = ((const shown *)a)->tick;
  const uint64_t right = ((const shown *)b)->tick;
  return (left < right) - (left > right);
}

lk_status lk_cache_visit(lk_cache *cache, lk_visit_fn visit, void *arg, lk_error *error) {
  snapshot all = {.cache = cache};
  pthread_mutex_lock(&cache->tables_lock);
  lk_each_entry(cache, add_to_snapshot, &all);
  pthread_mutex_unlock(&cache->tables_lock);
  if (!all.failed && all.count > 0) {
    qsort(all.items, all.count, sizeof *all.items, newest_first);
    for (size_t i = 0; i < all.count; i++) {
      all.items[i].info.age = i;
      visit(arg, &all.items[i].info);
    }
  }
  for (size_t i = 0; i < all.count; i++) lk_key_destroy(&cache->allocator, all.items[i].key);
  lk_free(&cache->allocator, all.items);
  if (all.failed) return lk_fail_memory(error, "a list of the cache's entries", sizeof(shown));
  return LK_OK;
}
