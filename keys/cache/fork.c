/* The caches over a fork. In the child, tables of other threads are orphans: the next slow call in
 * their cache destroys them. Builds of other threads are forgotten, so that whoever asks builds
 * anew. References that unfinished calls of other threads held stay for good: their values count as
 * in use until they are evicted, and are not freed. Nothing is destroyed or freed here: that calls
 * the host.
 */
#include "keys/cache/fork.h"

#include "base/fork.h"
#include "keys/cache/entry.h"
#include "keys/cache/flight.h"
#include "keys/cache/thread_table.h"

static void take_locks(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lk_registry);
  for (lk_cache *cache = lk_caches; cache != NULL; cache = cache->next) {
    pthread_mutex_lock(&cache->tables_lock);
    for (lk_thread_table *table = cache->tables; table != NULL; table = table->cache_next) {
      lk_thread_table_lock(table);
    }
    for (size_t i = 0; i < LK_SHARDS; i++) pthread_mutex_lock(&cache->shards[i].lock);
    pthread_mutex_lock(&cache->accounts);
  }
  pthread_mutex_lock(&lk_waiting);
}

static void give_locks(void *unused) {
  (void)unused;
  pthread_mutex_unlock(&lk_waiting);
  for (lk_cache *cache = lk_caches; cache != NULL; cache = cache->next) {
    pthread_mutex_unlock(&cache->accounts);
    for (size_t i = 0; i < LK_SHARDS; i++) pthread_mutex_unlock(&cache->shards[i].lock);
    for (lk_thread_table *table = cache->tables; table != NULL; table = table->cache_next) {
      lk_thread_table_unlock(table);
    }
    pthread_mutex_unlock(&cache->tables_lock);
  }
  pthread_mutex_unlock(&lk_registry);
}

/* ---- in the child ---- */

/* The memory of a thread that is not there may be that of a new one soon: nothing points to it. */
static void orphan_tables(lk_cache *cache, lk_thread *self) {
  cache->orphans = NULL;
  for (lk_thread_table *table = cache->tables; table != NULL; table = table->cache_next) {
    if (table->thread == self) continue;
    table->thread = NULL;
    table->thread_link = NULL;
    table->thread_next = cache->orphans;
    cache->orphans = table;
  }
  /* So that this thread's next call is a slow one, even if it is a hit. */
  if (cache->orphans != NULL) lk_thread_forget_memo(cache);
}

/* A thread that is not there may have been about to list a handle in its table. Whoever unlinks the
 * entry would look for it there, and the table will be gone. */
static void forget_unlisted(lk_entry *entry) {
  for (lk_ref *handle = entry->handles; handle != NULL; handle = handle->next) {
    const lk_thread_table *front = atomic_load_explicit(&handle->front, memory_order_relaxed);
    if (front == NULL || front->thread != NULL || lk_ref_is_listed(handle)) continue;
    atomic_store_explicit(&handle->front, NULL, memory_order_relaxed);
  }
}

static void forget_all_unlisted(lk_cache *cache) {
  for (size_t i = 0; i < LK_SHARDS; i++) {
    for (lk_table_node *node = lk_table_first(&cache->shards[i].table); node != NULL;
         node = lk_table_next(node)) {
      forget_unlisted((lk_entry *)(void *)node);
    }
  }
}

static lk_flight *next_flight(lk_flight *flight) {
  return (lk_flight *)lk_table_next(&flight->node);
}

/* Who forks inside a build goes on with it in the child. */
static void keep_own_flights(lk_shard *shard, const lk_cache *cache, const lk_thread *self) {
  bool any = false;
  for (lk_flight *flight = (lk_flight *)lk_table_first(&shard->flights); flight != NULL;
       flight = next_flight(flight)) {
    if (flight->builder == self) any = true;
  }
  /* The keys of the others lie in stacks that are gone. A table frees its memory with its last
   * node, which may not be here; left as a whole, it frees nothing. */
  if (!any) lk_table_init(&shard->flights, &cache->allocator);
  for (lk_flight *flight = (lk_flight *)lk_table_first(&shard->flights), *next = NULL;
       flight != NULL; flight = next) {
    next = next_flight(flight);
    if (flight->builder != self) lk_table_remove(&shard->flights, &flight->node);
  }
}

/* Also of those whose key was dropped, which are in no shard. */
static void forget_waiters(const lk_thread *self) {
  for (lk_pending *pending = self->pending; pending != NULL; pending = pending->outer) {
    if (pending->flight == NULL) continue;
    lk_flight *flight = (lk_flight *)pending->flight;
    flight->users = 1;
    (void)pthread_cond_init(&flight->finished, NULL);
  }
}

static void forget_other_threads(void *unused) {
  lk_thread *self = &lk_thread_self;
  for (lk_cache *cache = lk_caches; cache != NULL; cache = cache->next) {
    orphan_tables(cache, self);
    if (cache->orphans != NULL) forget_all_unlisted(cache);
    for (size_t i = 0; i < LK_SHARDS; i++) keep_own_flights(&cache->shards[i], cache, self);
    cache->ending = self->ending == cache ? 1 : 0;
  }
  lk_pending_forget_others();
  forget_waiters(self);
  (void)pthread_cond_init(&lk_registry_ended, NULL);
  give_locks(unused);
}

void lk_cache_fork_enter(void) {
  static lk_fork_entry entry = {.level = LK_FORK_CACHE,
                                .before = take_locks,
                                .parent = give_locks,
                                .child = forget_other_threads};
  lk_fork_enter(&entry);
}
