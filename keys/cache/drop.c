/* Dropping entries because their owner goes or asks for it. */
#include "keys/cache/drop.h"

#include "keys/cache/entry.h"
#include "keys/cache/front.h"
#include "keys/cache/walk.h"

typedef struct drop {
  bool (*goes)(const lk_entry *entry, const lk_quota *quota);
  const lk_quota *quota;
  bool eviction;
  lk_garbage garbage;
} drop;

static void unlink_if_goes(void *arg, lk_entry *entry) {
  drop *of = arg;
  if (of->goes(entry, of->quota)) lk_entry_unlink(entry, of->eviction, &of->garbage);
}

static void run_drop(lk_cache *cache, drop *of) {
  pthread_mutex_lock(&cache->sweep);
  if (cache->mode == LK_CACHE_SHARED) {
    lk_each_entry(cache, unlink_if_goes, of);
    lk_fronts_sweep(cache, &of->garbage);
  } else {
    pthread_mutex_lock(&cache->tables_lock);
    lk_each_entry(cache, unlink_if_goes, of);
    pthread_mutex_unlock(&cache->tables_lock);
  }
  pthread_mutex_unlock(&cache->sweep);
  lk_garbage_release(&of->garbage);
}

static bool is_in(const lk_entry *entry, const lk_quota *quota) {
  return quota == NULL || entry->quota == quota;
}

void lk_drop_all(lk_cache *cache, const lk_quota *quota, bool eviction) {
  run_drop(cache, &(drop){.goes = is_in, .quota = quota, .eviction = eviction});
}

static void note_used_value(void *arg, lk_entry *entry) {
  if (entry->self.kind != LK_KIND_VALUE) return;
  entry->used_before = lk_entry_users(entry) > 0 ? *(const lk_quota **)arg : NULL;
}

static bool was_used(const lk_entry *entry, const lk_quota *quota) {
  return entry->used_before == quota && lk_entry_users(entry) == 0;
}

void lk_drop_executor(lk_cache *cache, const lk_quota *quota) {
  pthread_mutex_lock(&cache->sweep);
  pthread_mutex_lock(&cache->tables_lock);
  lk_each_entry(cache, note_used_value, &quota);
  pthread_mutex_unlock(&cache->tables_lock);
  pthread_mutex_unlock(&cache->sweep);
  lk_drop_all(cache, quota, false);
  run_drop(cache, &(drop){.goes = was_used, .quota = quota});
}
