/* Shared mode. Explored in tests/promela/front.pml and flight.pml. */
#include "keys/cache/shared_mode.h"

#include "base/status.h"
#include "keys/cache/account.h"
#include "keys/cache/build.h"
#include "keys/cache/entry.h"
#include "keys/cache/evict.h"
#include "keys/cache/flight.h"
#include "keys/cache/front.h"
#include "keys/cache/tick.h"

/* With a reference for the caller; NULL: not there. The shard is locked. */
static lk_entry *find_entry(lk_shard *shard, const lk_key *key) {
  lk_entry *entry = (lk_entry *)lk_table_find(&shard->table, key);
  if (entry == NULL) return NULL;
  atomic_fetch_add_explicit(&entry->self.refs, 1, memory_order_relaxed);
  atomic_store_explicit(&entry->self.tick, lk_cache_tick(entry->cache), memory_order_relaxed);
  return entry;
}

/* Puts a new entry into its shard, if it can be kept. The shard is locked when this returns. */
static void link_entry(lk_cache *cache, lk_quota *quota, lk_shard *shard, lk_entry *entry) {
  bool room = true;
  pthread_mutex_lock(&shard->lock);
  while (room && !lk_entry_link(entry, &shard->table)) {
    pthread_mutex_unlock(&shard->lock);
    room = lk_make_room(cache, quota, 1, entry->bytes);
    pthread_mutex_lock(&shard->lock);
  }
}

/* Builds for all who wait. The flight is in the shard, which is not locked. */
static lk_status fly(lk_thread_table *front, lk_quota *quota, lk_flight *flight, const lk_key *key,
                     lk_build_fn build, void *arg, lk_ref **out_ref, lk_error *error) {
  lk_cache *cache = front->cache;
  lk_shard *shard = lk_shard_of(cache, key);
  lk_entry *entry = NULL;
  const lk_status status = lk_build(cache, quota, key, build, arg, &entry, &flight->error);
  if (status != LK_OK && error != NULL) *error = flight->error;
  if (entry != NULL) {
    link_entry(cache, quota, shard, entry);
  } else {
    pthread_mutex_lock(&shard->lock);
  }
  lk_flight_finish(cache, flight, entry != NULL ? &entry->self : NULL);
  if (entry != NULL) *out_ref = lk_front_take(front, entry);
  return status;
}

lk_status lk_shared_mode_get(lk_thread_table *front, lk_quota *quota, const lk_key *key,
                             lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                             lk_error *error) {
  lk_cache *cache = front->cache;
  lk_shard *shard = lk_shard_of(cache, key);
  const uint32_t kind = lk_key_get_head(key)->kind;
  pthread_mutex_lock(&shard->lock);
  lk_entry *entry = find_entry(shard, key);
  if (entry != NULL) {
    pthread_mutex_unlock(&shard->lock);
    lk_count_cold_hit(entry);
    *out_hit = 1;
    *out_ref = lk_front_take(front, entry);
    return LK_OK;
  }
  lk_count(cache, quota, kind, LK_EVENT_MISS, 0);
  lk_flight *flight = (lk_flight *)lk_table_find(&shard->flights, key);
  if (flight != NULL) {
    lk_ref *result = NULL;
    lk_count(cache, quota, kind, LK_EVENT_WAIT, 0);
    LK_RETURN_NOT_OK(lk_flight_wait(cache, flight, key, &result, error)); /* unlocks */
    *out_ref = lk_front_take(front, result->entry);
    return LK_OK;
  }
  flight = lk_flight_create(cache, key);
  pthread_mutex_unlock(&shard->lock);
  if (flight == NULL) {
    return lk_fail_memory(error, "the build of a cache entry", sizeof *flight);
  }
  return fly(front, quota, flight, key, build, arg, out_ref, error);
}
