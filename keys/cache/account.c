/* What is counted, and the limits. Each number is kept twice: for the cache, and for the quota if
 * there is one. */
#include "keys/cache/account.h"

#include <string.h>

#include "base/alloc.h"
#include "base/time_bucket.h"
#include "keys/cache/clock.h"

void lk_account_init(lk_account *account, lk_clock_owner owner, uint64_t entries, uint64_t bytes) {
  memset(account, 0, sizeof *account);
  lk_clock_init(&account->clock, owner);
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
  uint64_t *const counters[] = {[LK_EVENT_MISS] = &stats->misses,
                                [LK_EVENT_WAIT] = &stats->waits,
                                [LK_EVENT_BUILD] = &stats->builds,
                                [LK_EVENT_FAILED] = &stats->failed_builds};
  (*counters[event])++;
  if (event != LK_EVENT_BUILD && event != LK_EVENT_FAILED) return;
  stats->build_ns += build_ns;
  stats->build_times[lk_time_bucket(build_ns)]++;
}

void lk_count(lk_cache *cache, lk_quota *quota, uint32_t kind, lk_event event, uint64_t build_ns,
              lk_looked *looked) {
  looked->events |= 1u << event;
  looked->build_ns += build_ns;
  pthread_mutex_lock(&cache->accounts);
  count(&cache->account, kind, event, build_ns);
  if (quota != NULL) count(&quota->account, kind, event, build_ns);
  pthread_mutex_unlock(&cache->accounts);
}

void lk_count_cold_hit(lk_entry *entry, lk_looked *looked) {
  looked->events |= 1u << LK_EVENT_HIT;
  const uint32_t kind = entry->self.kind;
  atomic_fetch_add_explicit(&entry->self.hits, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&entry->cache->account.folded_hits[kind], 1, memory_order_relaxed);
  if (entry->quota != NULL) {
    atomic_fetch_add_explicit(&entry->quota->account.folded_hits[kind], 1, memory_order_relaxed);
  }
}

static void add_unlinked(const lk_entry *entry, uint64_t bytes) {
  lk_cache *cache = entry->cache;
  pthread_mutex_lock(&cache->accounts);
  cache->account.unlinked_bytes += bytes;
  if (entry->quota != NULL) entry->quota->account.unlinked_bytes += bytes;
  pthread_mutex_unlock(&cache->accounts);
}

void lk_account_add(const lk_entry *entry) {
  add_unlinked(entry, entry->bytes);
}

void lk_account_remove(const lk_entry *entry) {
  add_unlinked(entry, 0 - entry->bytes); /* unsigned: takes them away */
}

static void link_in(lk_account *account, lk_entry *entry) {
  const uint32_t kind = entry->self.kind;
  const uint64_t bytes = entry->bytes;
  lk_clock_add(&account->clock, entry);
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
    link_in(&cache->account, entry);
    if (entry->quota != NULL) link_in(&entry->quota->account, entry);
    entry->counted = 1;
  }
  pthread_mutex_unlock(&cache->accounts);
  return linked;
}

static void link_out(lk_account *account, lk_entry *entry, bool eviction) {
  const uint32_t kind = entry->self.kind;
  const uint64_t bytes = entry->bytes;
  lk_clock_remove(&account->clock, entry);
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
  link_out(&cache->account, entry, eviction);
  if (entry->quota != NULL) link_out(&entry->quota->account, entry, eviction);
  entry->counted = 0;
  entry->evicted = eviction;
  pthread_mutex_unlock(&cache->accounts);
}

void lk_account_park(lk_entry *entry) {
  lk_cache *cache = entry->cache;
  pthread_mutex_lock(&cache->accounts);
  lk_clock_park(&cache->account.clock, entry);
  if (entry->quota != NULL) lk_clock_park(&entry->quota->account.clock, entry);
  pthread_mutex_unlock(&cache->accounts);
}

void lk_account_unpark(lk_entry *entry) {
  lk_cache *cache = entry->cache;
  pthread_mutex_lock(&cache->accounts);
  lk_clock_unpark(&cache->account.clock, entry);
  if (entry->quota != NULL) lk_clock_unpark(&entry->quota->account.clock, entry);
  pthread_mutex_unlock(&cache->accounts);
}

lk_entry *lk_account_step(lk_cache *cache, lk_account *account, bool parked) {
  pthread_mutex_lock(&cache->accounts);
  lk_entry *entry = lk_clock_step(&account->clock, parked);
  pthread_mutex_unlock(&cache->accounts);
  return entry;
}

void lk_account_leave(lk_cache *cache, lk_account *account, lk_entry *const *entries,
                      uint32_t count) {
  pthread_mutex_lock(&cache->accounts);
  lk_clock_leave(&account->clock, entries, count);
  pthread_mutex_unlock(&cache->accounts);
}

static void change_bytes(lk_account *account, const lk_entry *entry, uint64_t change) {
  if (entry->counted == 0) {
    account->unlinked_bytes += change;
    return;
  }
  account->bytes += change;
  account->kind[entry->self.kind].bytes += change;
  if (account->bytes > account->peak_bytes) account->peak_bytes = account->bytes;
}

bool lk_account_charge(lk_entry *entry, uint64_t total) {
  lk_cache *cache = entry->cache;
  pthread_mutex_lock(&cache->accounts);
  const bool grown = total > entry->bytes;
  /* Unsigned differences wrap around and come out right. */
  const uint64_t change = total - entry->bytes;
  change_bytes(&cache->account, entry, change);
  if (entry->quota != NULL) change_bytes(&entry->quota->account, entry, change);
  entry->bytes = total;
  pthread_mutex_unlock(&cache->accounts);
  return grown;
}

uint64_t lk_account_charged(const lk_entry *entry) {
  lk_cache *cache = entry->cache;
  pthread_mutex_lock(&cache->accounts);
  const uint64_t bytes = entry->bytes;
  pthread_mutex_unlock(&cache->accounts);
  return bytes;
}

bool lk_account_fits_alone(const lk_account *account, uint64_t entries, uint64_t bytes) {
  return entries <= atomic_load_explicit(&account->limit_entries, memory_order_relaxed) &&
         bytes <= atomic_load_explicit(&account->limit_bytes, memory_order_relaxed);
}

bool lk_account_keeps(const lk_cache *cache, const lk_quota *quota) {
  return cache->mode != LK_CACHE_OFF && lk_account_fits_alone(&cache->account, 1, 1) &&
         (quota == NULL || lk_account_fits_alone(&quota->account, 1, 1));
}

void lk_quota_release(lk_quota *quota) {
  if (atomic_fetch_sub_explicit(&quota->refs, 1, memory_order_acq_rel) != 1) return;
  lk_free(&quota->cache->allocator, quota);
}
