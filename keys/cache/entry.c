/* Entries of the cache: their life, their references (explored in tests/promela/refs.pml), and what is
 * counted about them. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "keys/cache/internal.h"

/* What a value is charged that claims more than can be added up. */
#define HUGE_BYTES (LK_UNLIMITED / 4)

static uint64_t charge_of(uint64_t value_bytes, const lk_key *key) {
  const uint64_t bytes = value_bytes < HUGE_BYTES ? value_bytes : HUGE_BYTES;
  return bytes + sizeof(lk_entry) + key->size;
}

/* ---- accounts ---- */

void lk_account_init(lk_account *account, uint64_t entries, uint64_t bytes) {
  memset(account, 0, sizeof *account);
  atomic_init(&account->limit_entries, entries);
  atomic_init(&account->limit_bytes, bytes);
}

bool lk_account_fits(const lk_account *account, uint64_t entries, uint64_t bytes) {
  const uint64_t limit_entries =
      atomic_load_explicit(&account->limit_entries, memory_order_relaxed);
  const uint64_t limit_bytes = atomic_load_explicit(&account->limit_bytes, memory_order_relaxed);
  return account->entries <= limit_entries && entries <= limit_entries - account->entries &&
         account->bytes <= limit_bytes && bytes <= limit_bytes - account->bytes;
}

static void count(lk_account *account, uint32_t kind, lk_event event, uint64_t build_ns) {
  lk_kind_stats *stats = &account->kind[kind];
  switch (event) {
  case LK_EVENT_MISS:
    stats->misses++;
    break;
  case LK_EVENT_WAIT:
    stats->waits++;
    break;
  case LK_EVENT_BUILD:
    stats->builds++;
    break;
  case LK_EVENT_FAILED:
    stats->failed_builds++;
    break;
  }
  stats->build_ns += build_ns;
}

void lk_count(lk_cache *cache, lk_quota *quota, uint32_t kind, lk_event event, uint64_t build_ns) {
  pthread_mutex_lock(&cache->accounts);
  count(&cache->account, kind, event, build_ns);
  if (quota != NULL) count(&quota->account, kind, event, build_ns);
  pthread_mutex_unlock(&cache->accounts);
}

void lk_count_cold_hit(lk_entry *entry) {
  const uint32_t kind = entry->self.kind;
  atomic_fetch_add_explicit(&entry->self.hits, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&entry->cache->account.folded_hits[kind], 1, memory_order_relaxed);
  if (entry->quota != NULL) {
    atomic_fetch_add_explicit(&entry->quota->account.folded_hits[kind], 1, memory_order_relaxed);
  }
}

static void link_in(lk_account *account, uint32_t kind, uint64_t bytes) {
  account->entries++;
  account->bytes += bytes;
  account->unlinked_bytes -= bytes;
  if (account->bytes > account->peak_bytes) account->peak_bytes = account->bytes;
  account->kind[kind].entries++;
  account->kind[kind].bytes += bytes;
}

bool lk_account_link(lk_entry *entry) {
  lk_cache *cache = entry->cache;
  pthread_mutex_lock(&cache->accounts);
  const bool linked =
      lk_account_fits(&cache->account, 1, entry->bytes) &&
      (entry->quota == NULL || lk_account_fits(&entry->quota->account, 1, entry->bytes));
  if (linked) {
    link_in(&cache->account, entry->self.kind, entry->bytes);
    if (entry->quota != NULL) link_in(&entry->quota->account, entry->self.kind, entry->bytes);
    entry->counted = 1;
  }
  pthread_mutex_unlock(&cache->accounts);
  return linked;
}

static void link_out(lk_account *account, uint32_t kind, uint64_t bytes, bool eviction) {
  account->entries--;
  account->bytes -= bytes;
  account->unlinked_bytes += bytes;
  account->kind[kind].entries--;
  account->kind[kind].bytes -= bytes;
  if (eviction) account->kind[kind].evictions++;
}

void lk_account_unlink(lk_entry *entry, bool eviction) {
  lk_cache *cache = entry->cache;
  pthread_mutex_lock(&cache->accounts);
  link_out(&cache->account, entry->self.kind, entry->bytes, eviction);
  if (entry->quota != NULL) {
    link_out(&entry->quota->account, entry->self.kind, entry->bytes, eviction);
  }
  entry->counted = 0;
  pthread_mutex_unlock(&cache->accounts);
}

static bool keeps(const lk_account *account) {
  return atomic_load_explicit(&account->limit_entries, memory_order_relaxed) > 0 &&
         atomic_load_explicit(&account->limit_bytes, memory_order_relaxed) > 0;
}

bool lk_cache_keeps(lk_cache *cache, lk_quota *quota) {
  return cache->mode != LK_CACHE_OFF && keeps(&cache->account) &&
         (quota == NULL || keeps(&quota->account));
}

void lk_quota_release(lk_quota *quota) {
  if (atomic_fetch_sub_explicit(&quota->refs, 1, memory_order_acq_rel) != 1) return;
  lk_free(&quota->cache->allocator, quota);
}

/* ---- entries ---- */

uint64_t lk_cache_tick(lk_cache *cache) {
  const uint64_t clock = lk_clock();
  uint64_t now = atomic_load_explicit(&cache->now, memory_order_relaxed);
  uint64_t next = 0;
  do {
    next = clock > now ? clock : now + 1;
  } while (!atomic_compare_exchange_weak_explicit(&cache->now, &now, next, memory_order_relaxed,
                                                  memory_order_relaxed));
  return next;
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
  entry->bytes = charge_of(built->bytes, key);
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
  pthread_mutex_lock(&cache->accounts);
  cache->account.unlinked_bytes += entry->bytes;
  if (quota != NULL) quota->account.unlinked_bytes += entry->bytes;
  pthread_mutex_unlock(&cache->accounts);
  *out_entry = entry;
  return LK_OK;
}

static void entry_end(lk_entry *entry) {
  lk_cache *cache = entry->cache;
  if (entry->built.destroy != NULL) entry->built.destroy(entry->built.value, entry->built.user);
  pthread_mutex_lock(&cache->accounts);
  cache->account.unlinked_bytes -= entry->bytes;
  if (entry->quota != NULL) entry->quota->account.unlinked_bytes -= entry->bytes;
  pthread_mutex_unlock(&cache->accounts);
  if (entry->quota != NULL) lk_quota_release(entry->quota);
  lk_free(&cache->allocator, entry);
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

void lk_ref_release(lk_ref *ref) {
  if (ref == NULL) return;
  if (atomic_fetch_sub_explicit(&ref->refs, 1, memory_order_acq_rel) != 1) return;
  if (ref == &ref->entry->self) {
    entry_end(ref->entry);
  } else {
    lk_front_handle_end(ref);
  }
}

void lk_ref_charge(lk_ref *ref, uint64_t bytes) {
  lk_entry *entry = ref->entry;
  lk_cache *cache = entry->cache;
  const uint64_t total = charge_of(bytes, &entry->key);
  lk_account *accounts[] = {&cache->account, entry->quota != NULL ? &entry->quota->account : NULL};
  pthread_mutex_lock(&cache->accounts);
  for (size_t i = 0; i < 2 && accounts[i] != NULL; i++) {
    lk_account *account = accounts[i];
    /* Unsigned differences wrap around and come out right. */
    const uint64_t change = total - entry->bytes;
    if (entry->counted != 0) {
      account->bytes += change;
      account->kind[entry->self.kind].bytes += change;
      if (account->bytes > account->peak_bytes) account->peak_bytes = account->bytes;
    } else {
      account->unlinked_bytes += change;
    }
  }
  const bool grown = total > entry->bytes;
  entry->bytes = total;
  pthread_mutex_unlock(&cache->accounts);
  if (grown) lk_make_room(cache, entry->quota, 0, 0);
}

void lk_garbage_add(lk_garbage *garbage, lk_ref *ref) {
  ref->garbage_next = garbage->first;
  garbage->first = ref;
}

void lk_garbage_drop(lk_garbage *garbage) {
  while (garbage->first != NULL) {
    lk_ref *ref = garbage->first;
    garbage->first = ref->garbage_next;
    lk_ref_release(ref);
  }
}
