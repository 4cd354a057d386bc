/* Entries of the cache: their life, their handles, and references to them (explored in
 * tests/promela/refs.pml). */
#include "keys/cache/entry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/status.h"
#include "keys/cache/account.h"
#include "keys/cache/tick.h"

/* What a value is charged that claims more than can be added up. */
#define HUGE_BYTES (LK_UNLIMITED / 4)

uint64_t lk_entry_charge_of(const lk_key *key, uint64_t value_bytes) {
  const uint64_t bytes = value_bytes < HUGE_BYTES ? value_bytes : HUGE_BYTES;
  return bytes + sizeof(lk_entry) + key->size;
}

lk_status lk_entry_create(lk_cache *cache, lk_quota *quota, const lk_key *key,
                          const lk_built *built, lk_entry **out_entry, lk_error *error) {
  *out_entry = NULL;
  const size_t size = sizeof(lk_entry) + key->size;
  lk_entry *entry = lk_alloc_aligned(&cache->allocator, size, LK_LINE);
  if (entry == NULL) {
    if (built->destroy != NULL) built->destroy(built->value, built->user);
    return lk_fail_memory(error, "a cache entry", size);
  }
  memset(entry, 0, sizeof *entry);
  memcpy(entry->key_bytes, key->bytes, key->size);
  entry->key = (lk_key){.hash = key->hash, .size = key->size, .bytes = entry->key_bytes};
  entry->cache = cache;
  entry->built = *built;
  entry->bytes = lk_entry_charge_of(key, built->bytes);
  entry->self.value = built->value;
  entry->self.entry = entry;
  entry->self.key_bytes = entry->key_bytes;
  entry->self.key_size = key->size;
  entry->self.kind = lk_key_get_head(key)->kind;
  atomic_init(&entry->self.refs, 1);
  atomic_init(&entry->self.tick, lk_cache_tick(cache));
  if (quota != NULL) {
    entry->quota = quota;
    atomic_fetch_add_explicit(&quota->refs, 1, memory_order_relaxed);
  }
  lk_account_add(entry);
  *out_entry = entry;
  return LK_OK;
}

static void entry_destroy(lk_entry *entry) {
  lk_cache *cache = entry->cache;
  if (entry->built.destroy != NULL) entry->built.destroy(entry->built.value, entry->built.user);
  lk_account_remove(entry);
  if (entry->quota != NULL) lk_quota_release(entry->quota);
  lk_free(&cache->allocator, entry);
}

bool lk_entry_link(lk_entry *entry, lk_table *table) {
  if (!lk_account_link(entry)) return false;
  atomic_store_explicit(&entry->self.tick, lk_cache_tick(entry->cache), memory_order_relaxed);
  if (lk_table_insert(table, &entry->key, &entry->self.node)) {
    atomic_fetch_add_explicit(&entry->self.refs, 1, memory_order_relaxed);
    atomic_store_explicit(&entry->linked, 1, memory_order_relaxed);
  } else {
    lk_account_unlink(entry, false); /* no memory: for those who asked, and nobody later */
  }
  return true;
}

uint32_t lk_entry_users(const lk_entry *entry) {
  /* Signed: a handle that another thread releases just now may be seen half done. */
  int64_t users = atomic_load_explicit(&entry->self.refs, memory_order_acquire);
  users -= atomic_load_explicit(&entry->linked, memory_order_relaxed);
  for (const lk_ref *handle = entry->handles; handle != NULL; handle = handle->next) {
    users += (int64_t)atomic_load_explicit(&handle->refs, memory_order_acquire) -
             (int64_t)atomic_load_explicit(&handle->listed, memory_order_relaxed) - 1;
  }
  return users > 0 ? (uint32_t)users : 0;
}

uint64_t lk_entry_tick(const lk_entry *entry) {
  uint64_t tick = atomic_load_explicit(&entry->self.tick, memory_order_relaxed);
  for (const lk_ref *handle = entry->handles; handle != NULL; handle = handle->next) {
    const uint64_t other = atomic_load_explicit(&handle->tick, memory_order_relaxed);
    if (other > tick) tick = other;
  }
  return tick;
}

/* ---- handles of fronts ---- */

void lk_entry_add_handle(lk_entry *entry, lk_ref *handle) {
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  pthread_mutex_lock(&shard->lock);
  LK_LIST_ADD(entry->handles, handle, next, link);
  pthread_mutex_unlock(&shard->lock);
}

static void remove_handle(lk_entry *entry, lk_ref *handle) {
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  pthread_mutex_lock(&shard->lock);
  LK_LIST_REMOVE(handle, next, link);
  pthread_mutex_unlock(&shard->lock);
}

/* ---- references ---- */

void *lk_ref_value(const lk_ref *ref) {
  return ref->value;
}

const lk_key *lk_ref_key(const lk_ref *ref) {
  return &ref->entry->key;
}

void lk_ref_retain(lk_ref *ref) {
  atomic_fetch_add_explicit(&ref->refs, 1, memory_order_relaxed);
}

static bool is_last(lk_ref *ref) {
  return atomic_fetch_sub_explicit(&ref->refs, 1, memory_order_acq_rel) == 1;
}

void lk_ref_release(lk_ref *ref) {
  if (ref == NULL || !is_last(ref)) return;
  lk_entry *entry = ref->entry;
  if (ref != &entry->self) {
    remove_handle(entry, ref);
    lk_free(&entry->cache->allocator, ref);
    if (!is_last(&entry->self)) return;
  }
  entry_destroy(entry);
}

void lk_garbage_add(lk_garbage *garbage, lk_ref *ref) {
  ref->garbage_next = garbage->first;
  garbage->first = ref;
}

void lk_garbage_release(lk_garbage *garbage) {
  while (garbage->first != NULL) {
    lk_ref *ref = garbage->first;
    garbage->first = ref->garbage_next;
    lk_ref_release(ref);
  }
}
