/* A thread's tables: one for each cache that it uses. How they are made and found, and how they end
 * with their thread or with their cache, whichever ends first (explored in tests/promela/ends.pml).
 */
#include "keys/cache/thread_table.h"

#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/status.h"
#include "keys/cache/account.h"
#include "keys/cache/entry.h"

_Thread_local lk_thread lk_thread_self;

pthread_mutex_t lk_registry = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t lk_registry_ended = PTHREAD_COND_INITIALIZER;
lk_cache *lk_caches;
static pthread_key_t thread_end_key; /* guarded by lk_registry until it is there */
static bool has_thread_end_key;

/* ---- busy ---- */

void lk_thread_table_wait(lk_thread_table *table) {
  for (unsigned tries = 0; !lk_thread_table_try_lock(table); tries++) {
    /* Whoever has locked it needs microseconds, but may have lost its processor. */
    if (tries >= 32) sched_yield();
  }
}

/* ---- what is in a table ---- */

void lk_thread_table_remove(lk_thread_table *table, lk_ref *ref, lk_garbage *garbage) {
  lk_entry *entry = ref->entry;
  const uint64_t hits = atomic_load_explicit(&ref->hits, memory_order_relaxed);
  lk_table_remove(&table->table, &ref->node);
  if (ref->after != NULL) ref->after->before = NULL;
  if (ref->before != NULL) ref->before->after = NULL;
  ref->after = NULL;
  if (table->last == ref) table->last = NULL;
  atomic_store_explicit(&ref->front, NULL, memory_order_relaxed);
  if (ref == &entry->self) {
    lk_thread_table_count_own(table, (size_t)-1);
  } else {
    atomic_fetch_add_explicit(&entry->self.hits, hits, memory_order_relaxed);
  }
  if (entry->quota != NULL) {
    atomic_fetch_add_explicit(&entry->quota->account.folded_hits[ref->kind], hits,
                              memory_order_relaxed);
  }
  lk_garbage_take(garbage, ref);
}

void lk_thread_table_unlink(lk_entry *entry, bool eviction, lk_garbage *garbage) {
  lk_thread_table *table = entry->table;
  lk_shard *shard = lk_shard_of(entry->cache, &entry->key);
  pthread_mutex_lock(&shard->lock);
  lk_entry_leave_park(entry);
  pthread_mutex_unlock(&shard->lock);
  lk_account_unlink(entry, eviction);
  entry->table = NULL;
  lk_thread_table_remove(table, &entry->self, garbage);
}

void lk_thread_table_empty_front(lk_thread_table *table, lk_garbage *garbage) {
  for (lk_table_node *node = lk_table_first(&table->table), *next = NULL; node != NULL;
       node = next) {
    lk_ref *ref = (lk_ref *)node;
    next = lk_table_next(node);
    if (ref != &ref->entry->self) lk_thread_table_remove(table, ref, garbage);
  }
}

/* ---- the end of a table ---- */

/* Of a thread that is about to release references, a child of fork keeps them for good. So a table
 * hands out few at a time. */
enum { HANDLES_AT_A_TIME = 4 };

static void take_out_some(lk_thread_table *table, lk_garbage *garbage) {
  for (int i = 0; i < HANDLES_AT_A_TIME && lk_table_first(&table->table) != NULL; i++) {
    lk_ref *ref = (lk_ref *)lk_table_first(&table->table);
    if (ref == &ref->entry->self) {
      lk_thread_table_unlink(ref->entry, false, garbage);
    } else {
      lk_thread_table_remove(table, ref, garbage);
    }
  }
}

static void leave_cache(lk_thread_table *table) {
  lk_cache *cache = table->cache;
  LK_LIST_REMOVE(table, cache_next, cache_link);
  for (size_t kind = 0; kind < LK_KIND_COUNT; kind++) {
    atomic_fetch_add_explicit(&cache->account.folded_hits[kind],
                              atomic_load_explicit(&table->hits[kind], memory_order_relaxed),
                              memory_order_relaxed);
  }
}

static void leave_thread(lk_thread_table *table) {
  LK_LIST_REMOVE(table, thread_next, thread_link);
  table->thread = NULL;
}

/* The table is no longer in its thread's list. */
static void table_destroy(lk_thread_table *table) {
  lk_cache *cache = table->cache;
  for (bool is_empty = false; !is_empty;) {
    lk_garbage garbage = {NULL};
    /* Under the lock, so that a child of fork finds a table, or nothing of it. */
    pthread_mutex_lock(&cache->tables_lock);
    lk_thread_table_lock(table);
    take_out_some(table, &garbage);
    is_empty = lk_table_first(&table->table) == NULL;
    if (is_empty) {
      leave_cache(table);
    } else {
      lk_thread_table_unlock(table);
    }
    pthread_mutex_unlock(&cache->tables_lock);
    lk_garbage_release(&garbage);
  }
  lk_free(&cache->allocator, table);
}

/* Runs when a thread ends; again, if another end handler has used a cache since. */
static void thread_end(void *argument) {
  lk_thread *self = argument;
  for (;;) {
    memset(self->memos, 0, sizeof self->memos);
    pthread_mutex_lock(&lk_registry);
    lk_thread_table *table = self->tables;
    if (table != NULL) {
      leave_thread(table);
      table->cache->ending++;
      self->ending = table->cache;
    }
    pthread_mutex_unlock(&lk_registry);
    if (table == NULL) return;
    lk_cache *cache = table->cache;
    table_destroy(table);
    pthread_mutex_lock(&lk_registry);
    cache->ending--;
    self->ending = NULL;
    pthread_cond_broadcast(&lk_registry_ended);
    pthread_mutex_unlock(&lk_registry);
  }
}

/* Tables whose threads stayed behind in the parent are destroyed here, at a call of a thread that
 * is there. One at a time: what is in them may call back when it is destroyed. */
static void destroy_orphans(lk_cache *cache) {
  for (;;) {
    pthread_mutex_lock(&lk_registry);
    lk_thread_table *table = cache->orphans;
    if (table != NULL) cache->orphans = table->thread_next;
    pthread_mutex_unlock(&lk_registry);
    if (table == NULL) return;
    table_destroy(table);
  }
}

void lk_registry_add(lk_cache *cache) {
  pthread_mutex_lock(&lk_registry);
  LK_LIST_ADD(lk_caches, cache, next, link);
  pthread_mutex_unlock(&lk_registry);
}

void lk_registry_remove(lk_cache *cache) {
  pthread_mutex_lock(&lk_registry);
  while (cache->ending > 0) pthread_cond_wait(&lk_registry_ended, &lk_registry);
  for (lk_thread_table *table = cache->tables; table != NULL; table = table->cache_next) {
    if (table->thread != NULL) leave_thread(table);
  }
  LK_LIST_REMOVE(cache, next, link);
  pthread_mutex_unlock(&lk_registry);
  while (cache->tables != NULL) table_destroy(cache->tables);
}

/* ---- the making of a table ---- */

/* Not pthread_once: where the system has no key left at first, it may have one later. */
static bool note_end(lk_thread *self) {
  pthread_mutex_lock(&lk_registry);
  if (!has_thread_end_key) {
    has_thread_end_key = pthread_key_create(&thread_end_key, thread_end) == 0;
  }
  const bool has_key = has_thread_end_key;
  pthread_mutex_unlock(&lk_registry);
  return has_key && pthread_setspecific(thread_end_key, self) == 0;
}

/* The calling thread's table of this cache, if it has one. */
static lk_thread_table *find_table(lk_cache *cache, bool *out_orphans) {
  pthread_mutex_lock(&lk_registry);
  lk_thread_table *table = lk_thread_self.tables;
  while (table != NULL && table->cache != cache) table = table->thread_next;
  *out_orphans = cache->orphans != NULL;
  pthread_mutex_unlock(&lk_registry);
  return table;
}

static lk_status create_table(lk_cache *cache, lk_thread_table **out_table, lk_error *error) {
  *out_table = NULL;
  lk_thread *self = &lk_thread_self;
  if (!note_end(self)) {
    return lk_fail(error, LK_OUT_OF_MEMORY,
                   "failed to note the end of a thread: the system has no key left");
  }
  lk_thread_table *table = lk_calloc_lines(&cache->allocator, sizeof *table);
  if (table == NULL) return lk_fail_memory(error, "a thread's cache table", sizeof *table);
  table->cache = cache;
  lk_table_init(&table->table, &cache->allocator);
  pthread_mutex_lock(&lk_registry);
  table->thread = self;
  LK_LIST_ADD(self->tables, table, thread_next, thread_link);
  pthread_mutex_unlock(&lk_registry);
  pthread_mutex_lock(&cache->tables_lock);
  LK_LIST_ADD(cache->tables, table, cache_next, cache_link);
  pthread_mutex_unlock(&cache->tables_lock);
  *out_table = table;
  return LK_OK;
}

lk_status lk_thread_table_make(lk_cache *cache, lk_thread_table **out_table, lk_error *error) {
  lk_thread *self = &lk_thread_self;
  bool orphans = false;
  *out_table = NULL;
  lk_thread_table *table = find_table(cache, &orphans);
  if (table == NULL) LK_RETURN_NOT_OK(create_table(cache, &table, error));
  /* In turn, so that as many caches as there are memos can be used in turns too. */
  self->memos[self->next_memo] = (lk_memo){cache->serial, table};
  self->next_memo = (self->next_memo + 1) % LK_THREAD_MEMOS;
  if (orphans) destroy_orphans(cache);
  *out_table = table;
  return LK_OK;
}

void lk_thread_forget_memo(const lk_cache *cache) {
  lk_memo *memos = lk_thread_self.memos;
  for (unsigned i = 0; i < LK_THREAD_MEMOS; i++) {
    if (memos[i].serial == cache->serial) memos[i].serial = 0;
  }
}
