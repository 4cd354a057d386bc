/* Shared mode. Explored in tests/promela/front.pml and flight.pml. */
#include "keys/cache/shared_mode.h"

#include "base/status.h"
#include "base/team/team.h"
#include "keys/cache/build.h"
#include "keys/cache/entry.h"
#include "keys/cache/evict.h"
#include "keys/cache/flight.h"
#include "keys/cache/front.h"
#include "keys/cache/tick.h"

/* What is there, with a reference for the caller: also what was just built, and is to be linked
 * when there is room for it. NULL: nothing. The shard is locked. */
static lk_entry *find_entry(lk_shard *shard, const lk_key *key, lk_flight **out_flight) {
  lk_entry *entry = (lk_entry *)lk_table_find(&shard->table, key);
  *out_flight = NULL;
  if (entry == NULL) {
    lk_flight *flight = (lk_flight *)lk_table_find(&shard->flights, key);
    if (flight != NULL && flight->result != NULL) entry = flight->result->entry;
    *out_flight = flight;
  }
  if (entry != NULL) lk_ref_add(&entry->self, 1);
  return entry;
}

/* Puts what was built into its shard, which is locked, unless its key was dropped meanwhile. False:
 * it does not fit now. */
static bool link_built(lk_thread_table *front, lk_shard *shard, const lk_flight *flight,
                       lk_entry *entry) {
  return lk_pending_is_dropped(&flight->pending) ||
         lk_entry_link(entry, &shard->table, lk_cold_tick(front));
}

/* Makes room for an entry that did not fit, and puts it into its shard, if it can be kept. Whoever
 * waited for it has it by now: only the thread that built it evicts. The shard is locked when this
 * returns. */
static void link_into_room(lk_thread_table *front, lk_quota *quota, lk_shard *shard,
                           const lk_flight *flight, lk_entry *entry) {
  bool is_done = false;
  while (!is_done) {
    const bool has_room = lk_make_room(front->cache, quota, 1, lk_account_charged(entry));
    pthread_mutex_lock(&shard->lock);
    is_done = !has_room || link_built(front, shard, flight, entry);
    if (!is_done) pthread_mutex_unlock(&shard->lock);
  }
}

/* Builds for all who wait. The flight is in the shard, which is not locked. */
static lk_status fly(lk_thread_table *front, lk_quota *quota, lk_flight *flight, const lk_key *key,
                     lk_build_fn build, void *arg, lk_ref **out_ref, lk_looked *looked,
                     lk_error *error) {
  lk_cache *cache = front->cache;
  lk_shard *shard = lk_shard_of(cache, key);
  lk_entry *entry = NULL;
  const lk_status status = lk_build(cache, quota, key, build, arg, &entry, looked, &flight->error);
  if (status != LK_OK && error != NULL) *error = flight->error;
  pthread_mutex_lock(&shard->lock);
  const bool fits = entry == NULL || link_built(front, shard, flight, entry);
  lk_flight_publish(flight, entry != NULL ? &entry->self : NULL);
  if (!fits) {
    pthread_mutex_unlock(&shard->lock);
    link_into_room(front, quota, shard, flight, entry);
  }
  lk_flight_finish(cache, flight); /* unlocks */
  if (entry != NULL) *out_ref = lk_front_take(front, entry);
  return status;
}

/* Counts the use of what find_entry has found. The shard is locked; it is unlocked when this
 * returns. */
static lk_ref *take_found(lk_thread_table *front, lk_shard *shard, lk_entry *entry,
                          lk_looked *looked) {
  atomic_store_explicit(&entry->self.tick, lk_cold_tick(front), memory_order_relaxed);
  pthread_mutex_unlock(&shard->lock);
  lk_count_cold_hit(entry, looked);
  return lk_front_take(front, entry);
}

lk_ref *lk_shared_mode_find(lk_thread_table *front, lk_quota *quota, const lk_key *key,
                            lk_looked *looked) {
  lk_shard *shard = lk_shard_of(front->cache, key);
  lk_flight *flight = NULL;
  pthread_mutex_lock(&shard->lock);
  lk_entry *entry = find_entry(shard, key, &flight);
  if (entry != NULL) return take_found(front, shard, entry, looked); /* unlocks */
  pthread_mutex_unlock(&shard->lock);
  lk_count(front->cache, quota, lk_key_get_head(key)->kind, LK_EVENT_MISS, 0, looked);
  return NULL;
}

/* What ended another thread's build was that thread's own affair. */
static bool was_stopped(lk_status status) {
  return (status == LK_CANCELLED || status == LK_DEADLINE) && !lk_team_is_stopped();
}

lk_status lk_shared_mode_get(lk_thread_table *front, lk_quota *quota, const lk_key *key,
                             lk_build_fn build, void *arg, lk_ref **out_ref, lk_looked *looked,
                             lk_error *error) {
  lk_cache *cache = front->cache;
  lk_shard *shard = lk_shard_of(cache, key);
  const uint32_t kind = lk_key_get_head(key)->kind;
  lk_flight *flight = NULL;
  pthread_mutex_lock(&shard->lock);
  lk_entry *entry = find_entry(shard, key, &flight);
  if (entry != NULL) {
    *out_ref = take_found(front, shard, entry, looked); /* unlocks */
    return LK_OK;
  }
  lk_count(cache, quota, kind, LK_EVENT_MISS, 0, looked);
  if (flight != NULL) {
    lk_ref *result = NULL;
    lk_count(cache, quota, kind, LK_EVENT_WAIT, 0, looked);
    const lk_status status = lk_flight_wait(cache, flight, key, &result, error); /* unlocks */
    if (was_stopped(status)) { /* asks again, which is counted again */
      return lk_shared_mode_get(front, quota, key, build, arg, out_ref, looked, error);
    }
    LK_RETURN_NOT_OK(status);
    *out_ref = lk_front_take(front, result->entry);
    return LK_OK;
  }
  flight = lk_flight_create(cache, quota, key);
  pthread_mutex_unlock(&shard->lock);
  if (flight == NULL) {
    return lk_fail_memory(error, "the build of a cache entry", sizeof *flight);
  }
  return fly(front, quota, flight, key, build, arg, out_ref, looked, error);
}
