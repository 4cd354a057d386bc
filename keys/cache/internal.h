/* What the cache_*.c files share: entries, handles, accounts, threads' tables, shards.
 *
 * An entry is linked in one place: a shard (shared mode) or a thread's table (per-thread mode).
 * What callers hold is a handle, an lk_ref: the entry's own (`self`), or in shared mode one that a
 * thread's front made for this thread, so that threads that hit the same entry write to memory of
 * their own. A handle of a front holds one reference to `self`.
 *
 * Locks, each taken after those before it:
 *   registry   (process)  the caches, and threads' lists of tables; a cache's end waits for threads
 *                         that end
 *   sweep      (cache)    removing entries, by whatever way
 *   tables     (cache)    the list of threads' tables
 *   busy       (table)    a thread's table; a spin lock held for a few dozen instructions, or while
 *                         another thread removes entries from it
 *   shard      (shard)    its table, its flights, and the lists of handles of its entries
 *   accounts   (cache)    all that is counted except hits
 *   waiting    (process)  who waits for whose build
 * A fork takes them all (cache_fork.c).
 * Values are never ended, and builds never run, under any of them: references to drop are collected
 * in an lk_garbage and dropped at the end.
 */
#ifndef LK_KEYS_CACHE_INTERNAL_H
#define LK_KEYS_CACHE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "keys/cache/cache.h"
#include "keys/cache/table.h"

typedef struct lk_entry lk_entry;
typedef struct lk_thread_table lk_thread_table;
typedef struct lk_flight lk_flight;

#define LK_LINE 64 /* bytes that processors hand to each other */

/* ---- entries and handles (cache_entry.c) ---- */

struct lk_ref {
  lk_table_node node; /* in a thread's table, or for `self` in a shard */
  void *value;
  /* A processor's line ends here; the next one is written by every hit. */
  _Atomic uint64_t tick; /* of the last use; writer: who holds the table's busy flag */
  _Atomic uint64_t hits; /* same writer */
  _Atomic uint32_t refs;
  _Atomic uint32_t listed; /* 1: a thread's table holds one of `refs` */
  uint32_t kind;
  uint32_t key_size;
  const uint8_t *key_bytes; /* the entry's */
  /* What this thread found after this one the last time, and the reverse; NULL: not known. Guarded
   * by busy. */
  lk_ref *after, *before;
  lk_entry *entry;
  lk_ref *next, *prev; /* front handles of the entry; guarded by the shard */
  lk_ref *garbage_next;
};

struct lk_entry {
  lk_ref self;
  lk_cache *cache;
  lk_quota *quota; /* holds a reference; or NULL */
  lk_built built;
  uint64_t bytes;              /* charged; guarded by accounts */
  uint32_t counted;            /* 1: among the linked ones of the accounts, which guard it */
  _Atomic uint32_t linked;     /* changed by who locks the place where it is linked */
  lk_thread_table *table;      /* per-thread mode, while linked */
  lk_ref *handles;             /* shared mode; guarded by the shard */
  const lk_quota *used_before; /* see lk_drop_executor; guarded by sweep */
  lk_key key;
  alignas(8) uint8_t key_bytes[];
};

/* References to drop when no lock is held. */
typedef struct lk_garbage {
  lk_ref *first;
} lk_garbage;

/* Takes over `built`: it is destroyed when there is no memory. The caller has the one reference. */
lk_status lk_entry_create(lk_cache *cache, lk_quota *quota, const lk_key *key,
                          const lk_built *built, lk_entry **out_entry, lk_error *error);
/* References besides the cache's and its fronts'. The entry's place must be locked. */
uint32_t lk_entry_users(const lk_entry *entry);
uint64_t lk_entry_tick(const lk_entry *entry);
void lk_garbage_add(lk_garbage *garbage, lk_ref *ref);
void lk_garbage_drop(lk_garbage *garbage);

/* Time in a unit shorter than a hit. */
static inline uint64_t lk_clock(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

/* A tick for a use that is not a plain hit; later than all ticks given to this cache before. */
uint64_t lk_cache_tick(lk_cache *cache);

/* ---- accounts (cache_entry.c) ---- */

typedef struct lk_account {
  _Atomic uint64_t limit_entries, limit_bytes; /* written under accounts */
  uint64_t entries, bytes, peak_bytes, unlinked_bytes;
  lk_kind_stats kind[LK_KIND_COUNT];           /* hits: see folded_hits */
  _Atomic uint64_t folded_hits[LK_KIND_COUNT]; /* of handles and tables that are gone */
} lk_account;

typedef enum lk_event { LK_EVENT_MISS, LK_EVENT_WAIT, LK_EVENT_BUILD, LK_EVENT_FAILED } lk_event;

void lk_account_init(lk_account *account, uint64_t entries, uint64_t bytes);
/* Whether so much more can be linked. The caller holds `accounts`. */
bool lk_account_fits(const lk_account *account, uint64_t entries, uint64_t bytes);
/* Counts; `build_ns` for builds, else 0. */
void lk_count(lk_cache *cache, lk_quota *quota, uint32_t kind, lk_event event, uint64_t build_ns);
/* A hit that no handle of a table has counted. */
void lk_count_cold_hit(lk_entry *entry);
/* False: it does not fit now. True: it counts as linked. */
bool lk_account_link(lk_entry *entry);
void lk_account_unlink(lk_entry *entry, bool eviction);
/* Whether anything can be kept at all. */
bool lk_cache_keeps(lk_cache *cache, lk_quota *quota);

struct lk_quota {
  lk_cache *cache;
  _Atomic uint64_t refs; /* the executor's and one for each entry */
  lk_account account;    /* guarded by the cache's accounts lock */
};
void lk_quota_release(lk_quota *quota);

/* ---- threads (cache_thread.c) ---- */

struct lk_thread_table {
  alignas(LK_LINE) _Atomic uint32_t busy;
  _Atomic uint64_t hits[LK_KIND_COUNT]; /* writer: who holds `busy` */
  uint64_t clock;                       /* last tick given here */
  lk_ref *last;                         /* found by the last hit; NULL: not known */
  lk_table table;                       /* of lk_ref */
  lk_cache *cache;
  /* Guarded by registry. NULL: the thread ends, or this is a child of fork, which does not have it.
   * Then thread_next is the next one of the cache's `orphans`. */
  const struct lk_thread *thread;
  lk_thread_table *thread_next, **thread_link; /* guarded by registry */
  lk_thread_table *cache_next, **cache_link;   /* guarded by tables */
};

/* A build that runs on this thread. */
typedef struct lk_build_frame {
  struct lk_build_frame *outer;
  const lk_cache *cache;
  const lk_key *key;
} lk_build_frame;

#define LK_THREAD_MEMOS 4u

typedef struct lk_thread {
  struct {
    uint64_t serial; /* of the cache, never used again; 0: none */
    lk_thread_table *table;
  } memos[LK_THREAD_MEMOS];
  lk_thread_table *tables; /* guarded by registry */
  lk_cache *ending;        /* one whose table this thread ends just now; guarded by registry */
  lk_build_frame *building;
  lk_flight *waiting; /* guarded by waiting */
} lk_thread;

extern _Thread_local lk_thread lk_thread_self;

extern pthread_mutex_t lk_registry;
extern lk_cache *lk_caches;              /* guarded by registry */
extern pthread_cond_t lk_registry_ended; /* a cache's `ending` has become less */
extern pthread_mutex_t lk_waiting;       /* in cache_build.c */

/* ---- the cache ---- */

#define LK_SHARDS 16u
#define LK_FRONT_CAPACITY 4096u

typedef struct lk_shard {
  alignas(LK_LINE) pthread_mutex_t lock;
  lk_table table;   /* of lk_entry */
  lk_table flights; /* of lk_flight */
} lk_shard;

struct lk_cache {
  /* read by every hit */
  uint64_t serial;
  _Atomic uint64_t now; /* the last tick of lk_cache_tick */
  uint32_t mode;
  lk_allocator allocator;
  lk_intern *words;
  /* the rest is for misses */
  alignas(LK_LINE) pthread_mutex_t sweep;
  pthread_mutex_t tables_lock;
  lk_thread_table *tables;
  /* guarded by registry */
  lk_cache *next, **link;   /* of all caches, until their threads' tables are taken from them */
  lk_thread_table *orphans; /* tables of threads that a child of fork does not have */
  uint32_t ending;          /* threads that end in this cache */
  pthread_mutex_t accounts;
  lk_account account;
  lk_shard shards[LK_SHARDS];
};

static inline lk_shard *lk_shard_of(lk_cache *cache, const lk_key *key) {
  return &cache->shards[key->hash >> 60];
}

/* The calling thread's table of this cache, made at its first call: the slow way. */
lk_status lk_thread_table_make(lk_cache *cache, lk_thread_table **out_table, lk_error *error);

static inline lk_status lk_thread_table_get(lk_cache *cache, lk_thread_table **out_table,
                                            lk_error *error) {
  lk_thread *self = &lk_thread_self;
  const unsigned memo = (unsigned)cache->serial % LK_THREAD_MEMOS;
  if (__builtin_expect(self->memos[memo].serial == cache->serial, 1)) {
    *out_table = self->memos[memo].table;
    return LK_OK;
  }
  return lk_thread_table_make(cache, out_table, error);
}

/* False: another thread removes entries from it just now. */
static inline bool lk_table_try(lk_thread_table *table) {
  return atomic_exchange_explicit(&table->busy, 1, memory_order_acquire) == 0;
}
void lk_table_wait(lk_thread_table *table);
static inline void lk_table_enter(lk_thread_table *table) {
  if (!lk_table_try(table)) lk_table_wait(table);
}
static inline void lk_table_leave(lk_thread_table *table) {
  atomic_store_explicit(&table->busy, 0, memory_order_release);
}
/* Takes a handle out of a table that the caller holds. */
void lk_table_drop(lk_thread_table *table, lk_ref *ref, lk_garbage *garbage);
/* Unlinks an entry from its thread's table, which the caller holds. */
void lk_thread_unlink(lk_entry *entry, bool eviction, lk_garbage *garbage);
/* Enters a cache among those that threads have tables of. */
void lk_thread_tables_begin(lk_cache *cache);
/* For the destruction of a cache: takes its tables from their threads and frees them. */
void lk_thread_tables_end(lk_cache *cache);

/* Per-thread mode, behind a miss in the calling thread's table. */
lk_status lk_thread_get(lk_thread_table *table, lk_quota *quota, const lk_key *key,
                        lk_build_fn build, void *arg, lk_ref **out_ref, lk_error *error);

/* ---- forks (cache_fork.c) ---- */

void lk_cache_fork_enter(void);

/* ---- builds (cache_build.c) ---- */

/* Calls `build` and makes an entry that is linked nowhere; counts. `error` is filled on failure. */
lk_status lk_build(lk_cache *cache, lk_quota *quota, const lk_key *key, lk_build_fn build,
                   void *arg, lk_entry **out_entry, lk_error *error);
/* LK_CYCLE when the calling thread is building `key`. */
lk_status lk_build_check(const lk_cache *cache, const lk_key *key, lk_error *error);

/* One build that others wait for. */
struct lk_flight {
  lk_table_node node; /* in the shard's flights */
  const lk_key *key;  /* the builder's; valid until `done` */
  const lk_thread *builder;
  pthread_cond_t finished;
  uint32_t users; /* builder and waiters; guarded by the shard; the last one frees */
  uint32_t done;  /* written under the shard and `waiting`, read under either */
  lk_ref *result; /* a reference for each waiter; NULL: failed */
  lk_error error;
};

/* Notes that the calling thread is going to wait for `flight`, for `key`. LK_CYCLE: this would be
 * for ever. The shard of `key` is locked. */
lk_status lk_wait_begin(lk_cache *cache, lk_flight *flight, const lk_key *key, lk_error *error);
void lk_wait_end(void); /* while still a user of the flight */
/* Lets go who waits for `flight`, whose shard is locked. */
void lk_wait_done(lk_flight *flight);

/* ---- shared mode (cache_shared.c) ---- */

/* Behind a miss in the calling thread's front. */
lk_status lk_shared_get(lk_thread_table *front, lk_quota *quota, const lk_key *key,
                        lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                        lk_error *error);
lk_ref *lk_shared_find(lk_thread_table *front, const lk_key *key);
/* Takes an entry out of its shard, which the caller has locked. Fronts may still list it. */
void lk_shared_unlink(lk_entry *entry, bool eviction, lk_garbage *garbage);
/* Takes what is no longer linked out of all fronts. The caller holds `sweep`. */
void lk_fronts_sweep(lk_cache *cache, lk_garbage *garbage);
/* Ends a handle whose last reference is gone. */
void lk_front_handle_end(lk_ref *ref);

/* ---- budgets (cache_evict.c) ---- */

/* Evicts until `bytes` more in one more entry fit, for the cache and the quota. With `entries` and
 * `bytes` 0: until the limits hold. False: not possible, this is more than a limit. */
bool lk_make_room(lk_cache *cache, lk_quota *quota, uint64_t entries, uint64_t bytes);
/* Unlinks all entries, of one quota or (NULL) of all. */
void lk_drop_all(lk_cache *cache, lk_quota *quota, bool eviction);
/* Unlinks the entries of one quota, and the values that this leaves without a user: primitives, which
 * are nobody's own, but of no use to others who have asked for none of them. */
void lk_drop_executor(lk_cache *cache, lk_quota *quota);

/* Calls `see` for each linked entry, with its place locked. The caller holds `tables`. */
typedef void (*lk_see_fn)(void *arg, lk_entry *entry);
void lk_each_entry(lk_cache *cache, lk_see_fn see, void *arg);

#endif
