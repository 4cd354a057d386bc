/* What a cache consists of: entries and handles, accounts, threads' tables, shards. Structures
 * only; README.md names the files that work on them, from the ground up.
 *
 * An entry is linked in one place: a shard, or a thread's table. That is the table of the thread
 * that has built it in per-thread mode, and in shared mode where its key names a thread: it is that
 * thread's alone, beside what its table lists of the shards.
 * What callers hold is a handle, an lk_ref. It is the entry's own (`self`), or in shared mode one
 * that a thread's front made for its thread, so that threads that hit the same entry write to
 * memory of their own. A handle of a front holds one reference to `self`.
 *
 * Locks, each taken after those before it:
 *   registry   (process)  the caches, and threads' lists of tables; a cache's end waits for
 *                         threads that end
 *   tables     (cache)    the list of threads' tables, and all removing of linked entries
 *   busy       (table)    a thread's table; a spin lock held for a few dozen instructions, or
 *                         while another thread removes an entry from the table
 *   shard      (shard)    its table, flights and pending builds, and the handles and `parked` of
 *                         its entries
 *   accounts   (cache)    all that is counted except hits, and the clocks
 *   waiting    (process)  who waits for whose build
 * A fork takes them all (fork.c). Entries of threads' tables use their key's shard for pending
 * builds and `parked` alone.
 *
 * Values are never destroyed, and builds never run, under any of them: references to release are
 * collected in an lk_garbage and released at the end.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "keys/cache/ref.h"
#include "keys/cache/table.h"

typedef struct lk_entry lk_entry;
typedef struct lk_thread_table lk_thread_table;

/* ---- entries and handles ---- */

/* What lk_ref.refs consists of, in one number, so that none of it is seen without the rest: two
 * marks, and above them how many references there are besides that of the table. */
#define LK_REF_LISTED 1u /* a table has it: the shard's for `self`, else a thread's */
#define LK_REF_PARKED 2u /* who releases the last use must unpark the entry */
#define LK_REF_ONE 4u

struct lk_ref {
  lk_table_node node; /* in a thread's table, or for `self` in a shard */
  void *value;
  /* A processor's line ends here; the next one is written by every hit. */
  _Atomic uint64_t tick; /* of the last use; writer: who holds the table's busy flag */
  _Atomic uint64_t hits; /* same writer */
  /* References that hits took while a table has it; same writer. A hit needs no read-modify-write
   * then, since all are released from `refs`, which goes below 0 and wraps around. When the table
   * no longer has it, `refs` alone counts. */
  _Atomic uint32_t taken;
  _Atomic uint32_t refs; /* 0: gone */
  uint32_t kind;
  uint32_t key_size;
  const uint8_t *key_bytes; /* the entry's */
  uint64_t fixed_serial;    /* of a key that was found to begin as it; 0: none. Guarded by busy. */
  /* What this thread found after this one the last time, and the reverse; NULL: not known. Guarded
   * by busy. */
  lk_ref *after, *before;
  lk_entry *entry;
  /* The front that may list it; NULL: none does, or ever will again. It exists as long as this is
   * not NULL and `tables` is held. */
  _Atomic(lk_thread_table *) front;
  lk_ref *next, **link; /* front handles of the entry; guarded by the shard */
  lk_ref *garbage_next;
};

/* A place in the order in which the hand of a clock comes along. */
typedef struct lk_clock_node {
  struct lk_clock_node *next, *prev; /* guarded by accounts */
} lk_clock_node;

/* An entry is in the clocks of two accounts. */
typedef enum lk_clock_owner { LK_CLOCK_CACHE, LK_CLOCK_QUOTA, LK_CLOCK_OWNERS } lk_clock_owner;

struct lk_entry {
  lk_ref self;
  lk_cache *cache;
  lk_quota *quota; /* holds a reference; or NULL */
  lk_built built;
  uint64_t bytes;         /* charged; guarded by accounts */
  uint16_t counted;       /* 1: among the linked ones of the accounts, which guard it */
  uint16_t evicted;       /* 1: unlinked by an eviction; written with that, by who unlinks */
  uint32_t parked;        /* 1: in use, and no candidate of a clock; guarded by the shard */
  lk_thread_table *table; /* that it is linked in; NULL: none; guarded by tables */
  lk_ref *handles;        /* of an entry of a shard, which guards them */
  lk_clock_node in_clock[LK_CLOCK_OWNERS];
  uint64_t seen_hits; /* when a hand came along, or at first 0; guarded by tables */
  uint64_t seen_tick; /* then, or when it was linked; guarded by tables */
  lk_key key;
  alignas(8) uint8_t key_bytes[];
};

/* References to release when no lock is held. */
typedef struct lk_garbage {
  lk_ref *first;
} lk_garbage;

/* ---- accounts ---- */

/* The linked entries of an account in three circles, see clock.h. Guarded by accounts. */
typedef struct lk_clock {
  lk_clock_node fresh, again, parked;
  lk_clock_owner owner;
  uint64_t steps;  /* of the hand */
  uint32_t credit; /* looks that those who made room have not needed; guarded by tables */
} lk_clock;

typedef struct lk_account {
  lk_clock clock;
  _Atomic uint64_t limit_entries, limit_bytes; /* written under accounts */
  uint64_t entries, bytes, peak_bytes, unlinked_bytes;
  lk_kind_stats kind[LK_KIND_COUNT];           /* hits: see folded_hits */
  _Atomic uint64_t folded_hits[LK_KIND_COUNT]; /* of handles and tables that are gone */
} lk_account;

struct lk_quota {
  lk_cache *cache;
  _Atomic uint64_t refs; /* the executor's and one for each entry */
  lk_account account;    /* guarded by the cache's accounts lock */
};

/* ---- threads ---- */

struct lk_thread_table {
  alignas(LK_CACHE_LINE) _Atomic uint32_t busy;
  _Atomic uint64_t hits[LK_KIND_COUNT]; /* writer: who holds `busy` */
  uint64_t clock;                       /* last tick given here; the thread's own */
  lk_ref *last;                         /* found by the last hit; NULL: not known */
  lk_table table;                       /* of lk_ref */
  _Atomic size_t own; /* how many of them are the entries' own; writer: who holds `busy` */
  lk_cache *cache;
  /* Guarded by registry. NULL: the thread ends, or this is a child of fork, which does not have it.
   * Then thread_next is the next one of the cache's `orphans`. */
  const struct lk_thread *thread;
  lk_thread_table *thread_next, **thread_link; /* guarded by registry */
  lk_thread_table *cache_next, **cache_link;   /* guarded by tables */
};

/* ---- the cache ---- */

#define LK_SHARDS 16u

typedef struct lk_shard {
  alignas(LK_CACHE_LINE) pthread_mutex_t lock;
  lk_table table;   /* of lk_entry */
  lk_table flights; /* of lk_flight */
  struct lk_pending *pending;
} lk_shard;

struct lk_cache {
  /* Read by every hit, and written by none. */
  uint64_t serial; /* never reused; from 1 */
  uint32_t mode;
  lk_allocator allocator;
  lk_intern *words;
  lk_event_fn event; /* NULL: nobody is told */
  void *event_user;
  /* the rest is for misses */
  alignas(LK_CACHE_LINE) pthread_mutex_t tables_lock;
  _Atomic uint32_t n_listeners; /* writer: listeners.c, with its lock */
  lk_thread_table *tables;
  /* guarded by registry */
  lk_cache *next, **link;   /* of all caches, until their threads' tables are taken from them */
  lk_thread_table *orphans; /* tables of threads that a child of fork does not have */
  uint32_t ending;          /* threads that end in this cache */
  pthread_mutex_t accounts;
  lk_account account;
  lk_shard shards[LK_SHARDS];
};

static inline bool lk_ref_is_listed(const lk_ref *ref) {
  return (atomic_load_explicit(&ref->refs, memory_order_relaxed) & LK_REF_LISTED) != 0;
}

/* By who has a reference, or keeps one from going. */
static inline void lk_ref_add(lk_ref *ref, uint32_t count) {
  atomic_fetch_add_explicit(&ref->refs, count * LK_REF_ONE, memory_order_relaxed);
}

/* By who holds `busy`, which is the one writer. `more` may be less: it wraps around. */
static inline void lk_thread_table_count_own(lk_thread_table *table, size_t more) {
  atomic_store_explicit(&table->own, atomic_load_explicit(&table->own, memory_order_relaxed) + more,
                        memory_order_relaxed);
}

/* Changed by who locks the place where the entry is linked. */
static inline bool lk_entry_is_linked(const lk_entry *entry) {
  return lk_ref_is_listed(&entry->self);
}

/* Whether an entry of `key` is linked in a thread's table. `key` is whole. */
static inline bool lk_is_of_thread(const lk_cache *cache, const lk_key *key) {
  return cache->mode != LK_CACHE_SHARED || lk_key_is_of_thread(key);
}

static inline lk_shard *lk_shard_of(lk_cache *cache, const lk_key *key) {
  return &cache->shards[key->hash >> 60];
}
