/* The cache's entry points: its life, the look-ups, of which every operator makes one, limits. */
#include "keys/cache/cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "keys/cache/build.h"
#include "keys/cache/entry.h"
#include "keys/cache/events.h"
#include "keys/cache/evict.h"
#include "keys/cache/fork.h"
#include "keys/cache/pending.h"
#include "keys/cache/shared_mode.h"
#include "keys/cache/thread_table.h"
#include "keys/cache/tick.h"

/* ---- life ---- */

lk_status lk_cache_create(const lk_allocator *allocator, uint32_t mode, uint64_t entries,
                          uint64_t bytes, lk_cache **out_cache, lk_error *error) {
  static _Atomic uint64_t serials; /* of all caches of the process: never reused */
  *out_cache = NULL;
  if (mode != LK_CACHE_OFF && mode != LK_CACHE_THREAD && mode != LK_CACHE_SHARED) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to create a cache: mode is %u, 1 to 3 are allowed", mode);
  }
  lk_cache *cache = lk_calloc_lines(allocator, sizeof *cache);
  if (cache == NULL) return lk_fail_memory(error, "a cache", sizeof *cache);
  cache->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
  cache->mode = mode;
  cache->allocator = *allocator;
  lk_account_init(&cache->account, LK_CLOCK_CACHE, entries, bytes);
  pthread_mutex_init(&cache->tables_lock, NULL);
  pthread_mutex_init(&cache->accounts, NULL);
  for (size_t i = 0; i < LK_SHARDS; i++) {
    pthread_mutex_init(&cache->shards[i].lock, NULL);
    lk_table_init(&cache->shards[i].table, &cache->allocator);
    lk_table_init(&cache->shards[i].flights, &cache->allocator);
  }
  lk_cache_fork_enter();
  lk_registry_add(cache);
  *out_cache = cache;
  return LK_OK;
}

void lk_cache_destroy(lk_cache *cache) {
  if (cache == NULL) return;
  lk_drop_all(cache, NULL, false);
  lk_registry_remove(cache);
  for (size_t i = 0; i < LK_SHARDS; i++) pthread_mutex_destroy(&cache->shards[i].lock);
  pthread_mutex_destroy(&cache->accounts);
  pthread_mutex_destroy(&cache->tables_lock);
  const lk_allocator allocator = cache->allocator;
  lk_free(&allocator, cache);
}

uint32_t lk_cache_mode_get(const lk_cache *cache) {
  return cache->mode;
}

void lk_cache_set_words(lk_cache *cache, lk_intern *words) {
  cache->words = words;
}

void lk_cache_set_event(lk_cache *cache, lk_event_fn event, void *user) {
  cache->event = event;
  cache->event_user = user;
}

lk_status lk_quota_create(lk_cache *cache, lk_quota **out_quota, lk_error *error) {
  *out_quota = NULL;
  lk_quota *quota = lk_calloc(&cache->allocator, 1, sizeof *quota);
  if (quota == NULL) return lk_fail_memory(error, "an executor's limits", sizeof *quota);
  quota->cache = cache;
  atomic_init(&quota->refs, 1);
  lk_account_init(&quota->account, LK_CLOCK_QUOTA, LK_UNLIMITED, LK_UNLIMITED);
  *out_quota = quota;
  return LK_OK;
}

void lk_quota_destroy(lk_quota *quota) {
  if (quota == NULL) return;
  lk_drop_all(quota->cache, quota, false);
  lk_quota_release(quota);
}

/* ---- looking up ---- */

/* Whether all bytes are equal. The fixed part is compared once: after that, its number says it. The
 * caller holds the table. */
static bool is_key(lk_ref *ref, const lk_key *key) {
  if (ref->key_size != key->size) return false;
  const lk_key *fixed = key->fixed;
  if (fixed == NULL) return memcmp(ref->key_bytes, key->bytes, key->size) == 0;
  if (ref->fixed_serial != fixed->serial) {
    if (memcmp(ref->key_bytes, fixed->bytes, fixed->size) != 0) return false;
    ref->fixed_serial = fixed->serial;
  }
  return memcmp(ref->key_bytes + fixed->size, key->bytes + fixed->size, key->size - fixed->size) ==
         0;
}

/* An executor asks for the same keys in the same order again and again. So a hit remembers what was
 * found after it the last time. That is compared first, byte for byte as always: when it is the
 * same again, the key needs neither a hash nor a walk through the table. The caller holds the
 * table. */
static lk_ref *find_expected(const lk_thread_table *table, const lk_key *key) {
  lk_ref *expected = table->last != NULL ? table->last->after : NULL;
  return expected != NULL && is_key(expected, key) ? expected : NULL;
}

static void expect_after(lk_ref *last, lk_ref *ref) {
  if (last->after != NULL) last->after->before = NULL;
  if (ref->before != NULL) ref->before->after = NULL;
  last->after = ref;
  ref->before = last;
}

/* Counts a hit, and takes a reference for the caller. The caller holds the table. */
static void use(lk_thread_table *table, lk_ref *ref) {
  if (table->last != NULL && table->last->after != ref) expect_after(table->last, ref);
  table->last = ref;
  const lk_ref *next = ref->after;
  if (next != NULL) {
    __builtin_prefetch(next);
    __builtin_prefetch((const char *)next + LK_CACHE_LINE, 1);
  }
  /* One writer at a time, the holder of the table: no read-modify-write is needed. */
  const uint64_t hits = atomic_load_explicit(&table->hits[ref->kind], memory_order_relaxed) + 1;
  atomic_store_explicit(&table->hits[ref->kind], hits, memory_order_relaxed);
  atomic_store_explicit(&ref->hits, atomic_load_explicit(&ref->hits, memory_order_relaxed) + 1,
                        memory_order_relaxed);
  atomic_store_explicit(&ref->tick, lk_hit_tick(table, hits), memory_order_relaxed);
  atomic_store_explicit(&ref->taken, atomic_load_explicit(&ref->taken, memory_order_relaxed) + 1,
                        memory_order_relaxed);
}

/* A whole key of what was asked for. */
static void complete(lk_key *key, const lk_key *asked) {
  *key = *asked;
  lk_key_complete(key);
}

/* Returns a reference for the caller. NULL: it is not there, and `key` is whole. What was asked for
 * is not copied where it is expected: it was just written, and waits to be read as wide as a copy
 * reads it. */
static lk_ref *look(lk_thread_table *table, const lk_key *asked, lk_key *key) {
  /* Where there is another place to look, nothing here is worth waiting for. */
  if (!lk_thread_table_try_lock(table)) {
    complete(key, asked);
    if (!lk_is_of_thread(table->cache, key)) return NULL;
    lk_thread_table_wait(table);
  }
  lk_ref *ref = find_expected(table, asked);
  if (ref == NULL) {
    complete(key, asked);
    ref = (lk_ref *)lk_table_find(&table->table, key);
  }
  if (ref != NULL) use(table, ref);
  lk_thread_table_unlock(table);
  return ref;
}

/* Puts a new entry into its thread's table, unless its key was dropped meanwhile. False: it does
 * not fit now. */
static bool link_entry(lk_thread_table *table, const lk_pending *pending, lk_entry *entry) {
  lk_thread_table_lock(table);
  bool fits = true;
  if (!lk_pending_is_dropped(pending)) {
    /* before others can find the entry, or see it counted */
    entry->table = table;
    lk_thread_table_count_own(table, 1);
    fits = lk_entry_link(entry, &table->table, lk_cold_tick(table));
    if (!lk_entry_is_linked(entry)) {
      lk_thread_table_count_own(table, (size_t)-1);
      entry->table = NULL;
    }
  }
  lk_thread_table_unlock(table);
  return fits;
}

/* Builds for this thread alone, and keeps nothing. */
static lk_status build_alone(lk_cache *cache, lk_quota *quota, const lk_key *key, lk_build_fn build,
                             void *arg, lk_entry **out_entry, lk_looked *looked, lk_error *error) {
  lk_count(cache, quota, lk_key_get_head(key)->kind, LK_EVENT_MISS, 0, looked);
  return lk_build(cache, quota, key, build, arg, out_entry, looked, error);
}

/* Builds for this thread alone, and keeps the value in its table. */
static lk_status build_for_thread(lk_thread_table *table, lk_quota *quota, const lk_key *key,
                                  lk_build_fn build, void *arg, lk_entry **out_entry,
                                  lk_looked *looked, lk_error *error) {
  lk_cache *cache = table->cache;
  lk_shard *shard = lk_shard_of(cache, key);
  lk_pending pending;
  pthread_mutex_lock(&shard->lock);
  lk_pending_begin(&pending, cache, quota, key, NULL);
  pthread_mutex_unlock(&shard->lock);
  const lk_status status = build_alone(cache, quota, key, build, arg, out_entry, looked, error);
  while (status == LK_OK && !link_entry(table, &pending, *out_entry) &&
         lk_make_room(cache, quota, 1, lk_account_charged(*out_entry))) {
  }
  pthread_mutex_lock(&shard->lock);
  lk_pending_end(&pending);
  pthread_mutex_unlock(&shard->lock);
  return status;
}

/* Builds, or waits for another thread's build. */
static lk_status get_missing(lk_cache *cache, lk_thread_table *table, lk_quota *quota,
                             const lk_key *key, lk_build_fn build, void *arg, lk_ref **out_ref,
                             lk_looked *looked, lk_error *error) {
  lk_entry *entry = NULL;
  LK_RETURN_NOT_OK(lk_build_check(cache, key, error));
  const bool keeps = lk_account_keeps(cache, quota);
  if (keeps && !lk_is_of_thread(cache, key)) {
    return lk_shared_mode_get(table, quota, key, build, arg, out_ref, looked, error);
  }
  const lk_status status =
      keeps ? build_for_thread(table, quota, key, build, arg, &entry, looked, error)
            : build_alone(cache, quota, key, build, arg, &entry, looked, error);
  if (entry != NULL) *out_ref = &entry->self;
  return status;
}

static lk_ref *find_elsewhere(lk_cache *cache, lk_thread_table *table, lk_quota *quota,
                              const lk_key *key, lk_looked *looked) {
  if (!lk_is_of_thread(cache, key)) return lk_shared_mode_find(table, quota, key, looked);
  lk_count(cache, quota, lk_key_get_head(key)->kind, LK_EVENT_MISS, 0, looked);
  return NULL;
}

/* What the calling thread's own table does not have, by its whole key; `build` NULL: only if it is
 * there. Not inline: what this needs must not lie in the way of a hit. */
__attribute__((noinline)) static lk_status
get_slowly(lk_cache *cache, lk_thread_table *table, lk_quota *quota, const lk_key *key,
           lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit, lk_error *error) {
  lk_looked looked = {.events = 0};
  lk_status status = LK_OK;
  const uint32_t kind = lk_key_get_head(key)->kind;
  if (kind >= LK_KIND_COUNT) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to look up a key: its kind is %u, 0 to %d are allowed", kind,
                   LK_KIND_COUNT - 1);
  }
  if (build == NULL) {
    *out_ref = find_elsewhere(cache, table, quota, key, &looked);
  } else {
    status = get_missing(cache, table, quota, key, build, arg, out_ref, &looked, error);
  }
  if (out_hit != NULL) *out_hit = (looked.events & 1u << LK_EVENT_HIT) != 0;
  lk_tell_looked(cache, key, *out_ref, &looked);
  return status;
}

lk_status lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *asked, lk_build_fn build,
                       void *arg, lk_ref **out_ref, int *out_hit, lk_error *error) {
  lk_thread_table *table = NULL;
  lk_key key;
  *out_ref = NULL;
  if (cache->mode == LK_CACHE_OFF) {
    complete(&key, asked);
  } else {
    LK_RETURN_NOT_OK(lk_thread_table_get(cache, &table, error));
    lk_ref *ref = look(table, asked, &key);
    if (ref != NULL) {
      *out_ref = ref;
      if (out_hit != NULL) *out_hit = 1;
      if (lk_has_events(cache)) lk_tell_hit(ref);
      return LK_OK;
    }
  }
  return get_slowly(cache, table, quota, &key, build, arg, out_ref, out_hit, error);
}

lk_status lk_cache_find(lk_cache *cache, lk_quota *quota, const lk_key *asked, lk_ref **out_ref,
                        lk_error *error) {
  return lk_cache_get(cache, quota, asked, NULL, NULL, out_ref, NULL, error);
}

/* ---- limits ---- */

void lk_ref_charge(lk_ref *ref, uint64_t bytes) {
  lk_entry *entry = ref->entry;
  const bool grown = lk_account_charge(entry, lk_entry_charge_of(&entry->key, bytes));
  if (grown) lk_make_room(entry->cache, entry->quota, 0, 0);
}

void lk_cache_set_capacity(lk_cache *cache, lk_quota *quota, uint64_t entries, uint64_t bytes) {
  lk_account *account = quota != NULL ? &quota->account : &cache->account;
  pthread_mutex_lock(&cache->accounts);
  if (entries != LK_UNSET) {
    atomic_store_explicit(&account->limit_entries, entries, memory_order_relaxed);
  }
  if (bytes != LK_UNSET) atomic_store_explicit(&account->limit_bytes, bytes, memory_order_relaxed);
  pthread_mutex_unlock(&cache->accounts);
  if (entries == 0 || bytes == 0) {
    lk_drop_all(cache, quota, true);
  } else {
    lk_make_room(cache, quota, 0, 0);
  }
}

void lk_cache_clear(lk_cache *cache, lk_quota *quota) {
  lk_drop_all(cache, quota, false);
}
