/* The cache itself, for values of the host's own. */
#ifndef LATCHKEY_CACHE_H
#define LATCHKEY_CACHE_H

#include <latchkey/key.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_ref lk_ref; /* a counted reference to a cached value */

/* What a build hands over: a value, the bytes that it is charged for, and how to destroy it.
 * `destroy` runs on any thread, as soon as nobody uses the value. Values may hold references to
 * other values, in chains of any length: where a `destroy` releases the last reference to another
 * value, that one may be destroyed only after this `destroy` has returned, within the same call. An
 * empty value (NULL) is an error of the build. */
typedef struct lk_built {
  void *value;
  uint64_t bytes;
  void (*destroy)(void *value, void *user);
  void *user;
} lk_built;

/* `key` is the one that was asked for, valid during the call. What a value depends on should be
 * read from there: what a build takes from elsewhere, such as `arg`, must not change it. */
typedef lk_status (*lk_build_fn)(void *arg, const lk_key *key, lk_built *out, lk_error *error);

/* One entry, as cache_visit shows it. `key` is valid during the call. */
typedef struct lk_entry_info {
  size_t struct_size;
  const lk_key *key;
  uint64_t bytes;
  uint64_t hits;
  uint64_t age; /* 0 = used last */
  uint32_t kind;
  uint32_t in_use; /* references besides the cache's */
} lk_entry_info;

/* What a context's cache tells its host, see lk_event_fn. For each but the last there is a counter
 * in lk_kind_stats, which counts as many. */
typedef enum lk_event {
  LK_EVENT_HIT = 0,
  LK_EVENT_MISS = 1,   /* then WAIT, or BUILD or FAILED follows; or nothing, from cache_find */
  LK_EVENT_WAIT = 2,   /* for another thread's build, which has ended by now */
  LK_EVENT_BUILD = 3,  /* with `build_ns` and `bytes` */
  LK_EVENT_FAILED = 4, /* a build that failed, with `build_ns` */
  LK_EVENT_EVICT = 5,  /* with `bytes` */
  LK_EVENT_DROP = 6,   /* by cache_drop, cache_clear, or the end of a thread, executor or context;
                        * with `bytes` */
  LK_EVENT_COUNT = 7
} lk_event;

/* `key` is valid during the call: key_print prints it, and of kind user it may be asked for. */
typedef struct lk_event_info {
  size_t struct_size;
  const lk_key *key;
  uint64_t bytes;    /* that the entry is charged, or else 0 */
  uint64_t build_ns; /* or else 0 */
  uint32_t event;    /* lk_event */
  uint32_t kind;     /* lk_kind */
} lk_event_info;

/* Is told of each event on the thread that caused it, which may be any, or several at once. No
 * lock is held. A look-up tells what it has counted when it is over, just before it returns: so
 * what its build asked for, and what it evicted, comes before. An entry that leaves is told when
 * it has left, and before its value is destroyed.
 * It may call every function of the table, and ask for any key: one that its own thread is
 * building is LK_CYCLE, as ever. What it asks for has events, too, so it must not answer each
 * with another. It must not end the context, nor an executor, op, plan or frame that its thread
 * is inside a call with. While its context is being destroyed, it may only call key_print and
 * key_parse. */
typedef void (*lk_event_fn)(void *user, const lk_event_info *event);

/* Who else is told what leaves a context's cache, in memory of the host's, which must not move
 * between listener_enter and listener_leave. */
typedef struct lk_listener {
  lk_event_fn event; /* of LK_EVENT_EVICT and LK_EVENT_DROP */
  void *user;
  void *opaque[6]; /* the library's; zero at first */
} lk_listener;

typedef void (*lk_visit_fn)(void *arg, const lk_entry_info *entry);

/* ---- constants of the host's own ---- */

typedef struct lk_constant lk_constant; /* bytes that do not change, such as weights, by content */
typedef struct lk_packed lk_packed;     /* a counted reference to a packed copy of a constant */

/* Packs: writes `packed`, of as many bytes as lk_packing says and aligned to 64, from the bytes of
 * the constant, which may lie at any address. No lock is held. */
typedef lk_status (*lk_pack_fn)(void *arg, const void *plain, void *packed, lk_error *error);

/* How a constant is to be packed. The copy is found by the constant's content and by `layout`, all
 * of whose bytes are compared: they must say all that the copy depends on besides the content, how
 * plain bytes are read, too, and who packs. */
typedef struct lk_packing {
  size_t struct_size;
  const void *layout; /* copied */
  uint64_t layout_bytes;
  uint64_t bytes; /* of the copy, from 1 */
  lk_pack_fn pack;
  void *arg;
} lk_packing;

#ifdef __cplusplus
}
#endif

#endif
