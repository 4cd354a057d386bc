/* Shared mode: shards, the fronts of threads before them, and single flight. Explored in
 * tests/promela/front.pml and flight.pml. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "keys/cache/internal.h"

/* ---- handles of fronts ---- */

static void add_handle(lk_entry *entry, lk_ref *handle) {
  handle->next = entry->handles;
  if (entry->handles != NULL) entry->handles->prev = handle;
  entry->handles = handle;
}

static void remove_handle(lk_entry *entry, lk_ref *handle) {
  if (handle->next != NULL) handle->next->prev = handle->prev;
  if (handle->prev != NULL) {
    handle->prev->next = handle->next;
  } else {
    entry->handles = handle->next;
  }
}

void lk_front_handle_end(lk_ref *ref) {
  lk_entry *entry = ref->entry;
  lk_cache *cache = entry->cache;
  lk_shard *shard = lk_shard_of(cache, &entry->key);
  pthread_mutex_lock(&shard->lock);
  remove_handle(entry, ref);
  pthread_mutex_unlock(&shard->lock);
  lk_free(&cache->allocator, ref);
  lk_ref_release(&entry->self);
}

static void flush_front(lk_thread_table *front, lk_garbage *garbage) {
  while (lk_table_first(&front->table) != NULL) {
    lk_table_drop(front, (lk_ref *)lk_table_first(&front->table), garbage);
  }
}

/* Turns the caller's reference to an entry into one to a handle of this thread's front, and lists
 * it there. Where that is not possible, the reference stays what it is. */
static lk_ref *take_into_front(lk_thread_table *front, lk_entry *entry) {
  lk_cache *cache = front->cache;
  lk_shard *shard = lk_shard_of(cache, &entry->key);
  if (atomic_load_explicit(&entry->linked, memory_order_relaxed) == 0) return &entry->self;
  lk_ref *handle = lk_alloc_aligned(&cache->allocator, sizeof *handle, LK_LINE);
  if (handle == NULL) return &entry->self;
  memset(handle, 0, sizeof *handle);
  handle->value = entry->self.value;
  handle->entry = entry;
  handle->kind = entry->self.kind;
  handle->key_bytes = entry->key_bytes;
  handle->key_size = entry->key.size;
  const uint64_t tick = lk_cache_tick(cache);
  atomic_init(&handle->refs, 1);
  atomic_init(&handle->tick, tick);

  lk_garbage garbage = {NULL};
  if (lk_table_try(front)) {
    front->clock = tick;
    if (lk_table_count(&front->table) >= LK_FRONT_CAPACITY) flush_front(front, &garbage);
    /* Who unlinks an entry clears `linked` before it looks into the fronts, one by one: either it
     * finds what is listed here now, or `linked` is 0 here already. */
    if (atomic_load_explicit(&entry->linked, memory_order_relaxed) != 0 &&
        lk_table_find(&front->table, &entry->key) == NULL &&
        lk_table_insert(&front->table, &entry->key, &handle->node)) {
      atomic_fetch_add_explicit(&handle->refs, 1, memory_order_relaxed);
      atomic_store_explicit(&handle->listed, 1, memory_order_relaxed);
    }
    lk_table_leave(front);
  }
  /* Now that it is listed or not: lk_entry_users would count one too few if it saw `refs` from before
   * and `listed` from after. Until here, it counts the handle's reference to the entry. */
  pthread_mutex_lock(&shard->lock);
  add_handle(entry, handle);
  pthread_mutex_unlock(&shard->lock);
  lk_garbage_drop(&garbage);
  return handle;
}

void lk_fronts_sweep(lk_cache *cache, lk_garbage *garbage) {
  pthread_mutex_lock(&cache->tables_lock);
  for (lk_thread_table *front = cache->tables; front != NULL; front = front->cache_next) {
    lk_table_enter(front);
    for (lk_table_node *node = lk_table_first(&front->table); node != NULL;) {
      lk_ref *ref = (lk_ref *)node;
      node = lk_table_next(node);
      if (atomic_load_explicit(&ref->entry->linked, memory_order_relaxed) == 0) {
        lk_table_drop(front, ref, garbage);
      }
    }
    lk_table_leave(front);
  }
  pthread_mutex_unlock(&cache->tables_lock);
}

/* ---- shards ---- */

void lk_shared_unlink(lk_entry *entry, bool eviction, lk_garbage *garbage) {
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  lk_table_remove(&shard->table, &entry->self.node);
  lk_account_unlink(entry, eviction);
  atomic_store_explicit(&entry->linked, 0, memory_order_relaxed);
  lk_garbage_add(garbage, &entry->self);
}

/* The shard is locked. With a reference for the caller; NULL: not there. */
static lk_entry *find_entry(lk_shard *shard, const lk_key *key) {
  lk_entry *entry = (lk_entry *)lk_table_find(&shard->table, key);
  if (entry == NULL) return NULL;
  atomic_fetch_add_explicit(&entry->self.refs, 1, memory_order_relaxed);
  atomic_store_explicit(&entry->self.tick, lk_cache_tick(entry->cache), memory_order_relaxed);
  return entry;
}

lk_ref *lk_shared_find(lk_thread_table *front, const lk_key *key) {
  lk_shard *shard = lk_shard_of(front->cache, key);
  pthread_mutex_lock(&shard->lock);
  lk_entry *entry = find_entry(shard, key);
  pthread_mutex_unlock(&shard->lock);
  if (entry == NULL) return NULL;
  lk_count_cold_hit(entry);
  return take_into_front(front, entry);
}

/* ---- single flight ---- */

static lk_flight *flight_create(const lk_allocator *allocator, const lk_key *key) {
  lk_flight *flight = lk_calloc(allocator, 1, sizeof *flight);
  if (flight == NULL) return NULL;
  flight->key = key;
  flight->builder = &lk_thread_self;
  flight->users = 1;
  pthread_cond_init(&flight->finished, NULL);
  return flight;
}

/* The shard is locked; it is unlocked when this returns. */
static void flight_leave(lk_cache *cache, lk_shard *shard, lk_flight *flight) {
  const bool last = --flight->users == 0;
  pthread_mutex_unlock(&shard->lock);
  if (!last) return;
  pthread_cond_destroy(&flight->finished);
  lk_free(&cache->allocator, flight);
}

/* Waits for another thread's build. The shard is locked; it is unlocked when this returns. */
static lk_status wait_for(lk_thread_table *front, lk_shard *shard, lk_flight *flight,
                          const lk_key *key, lk_ref **out_ref, lk_error *error) {
  lk_cache *cache = front->cache;
  lk_status status = lk_wait_begin(cache, flight, key, error);
  if (status != LK_OK) {
    pthread_mutex_unlock(&shard->lock);
    return status;
  }
  flight->users++;
  while (flight->done == 0) {
    pthread_cond_wait(&flight->finished, &shard->lock);
  }
  lk_ref *result = flight->result;
  if (result == NULL) {
    status = flight->error.status;
    if (error != NULL) *error = flight->error;
  }
  lk_wait_end();
  flight_leave(cache, shard, flight);
  if (result != NULL) *out_ref = take_into_front(front, result->entry);
  return status;
}

/* Puts a new entry into its shard, if it can be kept. The shard is locked when this returns. */
static void link_entry(lk_cache *cache, lk_quota *quota, lk_shard *shard, lk_entry *entry) {
  bool room = true;
  pthread_mutex_lock(&shard->lock);
  while (room) {
    if (lk_account_link(entry)) {
      atomic_store_explicit(&entry->self.tick, lk_cache_tick(cache), memory_order_relaxed);
      if (lk_table_insert(&shard->table, &entry->key, &entry->self.node)) {
        atomic_fetch_add_explicit(&entry->self.refs, 1, memory_order_relaxed);
        atomic_store_explicit(&entry->linked, 1, memory_order_relaxed);
      } else {
        lk_account_unlink(entry, false); /* no memory: for those who asked, and nobody later */
      }
      return;
    }
    pthread_mutex_unlock(&shard->lock);
    room = lk_make_room(cache, quota, 1, entry->bytes);
    pthread_mutex_lock(&shard->lock);
  }
}

/* Builds for all who wait. The flight is in the shard, which is not locked. */
static lk_status fly(lk_thread_table *front, lk_quota *quota, lk_shard *shard, lk_flight *flight,
                     const lk_key *key, lk_build_fn build, void *arg, lk_ref **out_ref,
                     lk_error *error) {
  lk_cache *cache = front->cache;
  lk_entry *entry = NULL;
  const lk_status status = lk_build(cache, quota, key, build, arg, &entry, &flight->error);
  if (status != LK_OK && error != NULL) *error = flight->error;
  if (entry != NULL) {
    link_entry(cache, quota, shard, entry);
  } else {
    pthread_mutex_lock(&shard->lock);
  }
  lk_table_remove(&shard->flights, &flight->node);
  if (entry != NULL) {
    atomic_fetch_add_explicit(&entry->self.refs, flight->users - 1, memory_order_relaxed);
    flight->result = &entry->self;
  }
  lk_wait_done(flight);
  pthread_cond_broadcast(&flight->finished);
  flight_leave(cache, shard, flight);
  if (entry != NULL) *out_ref = take_into_front(front, entry);
  return status;
}

lk_status lk_shared_get(lk_thread_table *front, lk_quota *quota, const lk_key *key,
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
    *out_ref = take_into_front(front, entry);
    return LK_OK;
  }
  lk_count(cache, quota, kind, LK_EVENT_MISS, 0);
  lk_flight *flight = (lk_flight *)lk_table_find(&shard->flights, key);
  if (flight != NULL) {
    lk_count(cache, quota, kind, LK_EVENT_WAIT, 0);
    return wait_for(front, shard, flight, key, out_ref, error);
  }
  flight = flight_create(&cache->allocator, key);
  if (flight != NULL && !lk_table_insert(&shard->flights, key, &flight->node)) {
    flight_leave(cache, shard, flight); /* unlocks */
    return lk_fail_memory(error, "the build of a cache entry", sizeof *flight);
  }
  pthread_mutex_unlock(&shard->lock);
  if (flight == NULL) {
    return lk_fail_memory(error, "the build of a cache entry", sizeof *flight);
  }
  return fly(front, quota, shard, flight, key, build, arg, out_ref, error);
}
