/* A thread's tables, one for each cache that it uses: the front of shared mode, all there is in
 * per-thread mode. In shared mode it also has the entries that are its thread's own. */
#pragma once

#include "keys/cache/state.h"

#define LK_THREAD_MEMOS 4u

/* A cache that a thread has used, and its table there. */
typedef struct lk_memo {
  uint64_t serial; /* of the cache; 0: none */
  lk_thread_table *table;
} lk_memo;

typedef struct lk_thread {
  lk_memo memos[LK_THREAD_MEMOS];
  uint32_t next_memo;      /* which is overwritten next */
  lk_thread_table *tables; /* guarded by registry */
  lk_cache *ending;        /* one whose table this thread ends just now; guarded by registry */
  const struct lk_build_frame *building; /* the innermost build that runs on this thread: build.c */
  const struct lk_flight *waiting;       /* guarded by waiting: flight.c */
  struct lk_pending *pending; /* the innermost one of this thread, which alone uses it: pending.c */
} lk_thread;

/* In the static block of thread-local memory, so that a hit reads it without a call. Libraries that
 * are loaded later share some hundred bytes of that block: it must stay small. */
extern _Thread_local lk_thread lk_thread_self __attribute__((tls_model("initial-exec")));

/* The registry: which caches there are, and which tables a thread has. A thread and a cache may end
 * at the same time. */
extern pthread_mutex_t lk_registry;
extern lk_cache *lk_caches;              /* guarded by registry */
extern pthread_cond_t lk_registry_ended; /* a cache's `ending` has become less */

/* From here on threads may have tables of the cache. */
void lk_registry_add(lk_cache *cache);
/* For the destruction of a cache: takes its tables from their threads and destroys them. */
void lk_registry_remove(lk_cache *cache);

/* The calling thread's table of this cache, made at its first call: the slow way. */
lk_status lk_thread_table_make(lk_cache *cache, lk_thread_table **out_table, lk_error *error);

static inline lk_status lk_thread_table_get(lk_cache *cache, lk_thread_table **out_table,
                                            lk_error *error) {
  const lk_memo *memos = lk_thread_self.memos;
  for (unsigned i = 0; i < LK_THREAD_MEMOS; i++) {
    if (__builtin_expect(memos[i].serial == cache->serial, 1)) {
      *out_table = memos[i].table;
      return LK_OK;
    }
  }
  return lk_thread_table_make(cache, out_table, error);
}

/* False: another thread removes entries from it just now. */
static inline bool lk_thread_table_try_lock(lk_thread_table *table) {
  return atomic_exchange_explicit(&table->busy, 1, memory_order_acquire) == 0;
}
void lk_thread_table_wait(lk_thread_table *table); /* locks it in the end */
static inline void lk_thread_table_lock(lk_thread_table *table) {
  if (!lk_thread_table_try_lock(table)) lk_thread_table_wait(table);
}
static inline void lk_thread_table_unlock(lk_thread_table *table) {
  atomic_store_explicit(&table->busy, 0, memory_order_release);
}

/* For a child of fork: the calling thread has no memo of this cache. */
void lk_thread_forget_memo(const lk_cache *cache);

/* Takes a handle out of a table that the caller has locked. */
void lk_thread_table_remove(lk_thread_table *table, lk_ref *ref, lk_garbage *garbage);
/* Unlinks an entry from its thread's table, which the caller has locked, with `tables`. Locks the
 * shard. */
void lk_thread_table_unlink(lk_entry *entry, bool eviction, lk_garbage *garbage);
/* Takes all handles of entries of shards out of a table, which the caller has locked. */
void lk_thread_table_empty_front(lk_thread_table *table, lk_garbage *garbage);
