/* Memory for the activations of runs and the scratch memory of their operators, shared by all graph
 * executors of a context.
 *
 * A run takes one arena and gives it back; what is idle serves whichever run comes next, of any
 * model and size. Idle ones are few: one each for the last runs of eight threads and four for each
 * processor, fewer when some have not been needed for a while. An arena that was more than twice as
 * large as needed for a while is freed. One that takes the place of a smaller one has room for half
 * as much again as that.
 *
 * Threads: any number may take and give at the same time.
 */
#pragma once

#include <latchkey/latchkey.h>
#include <stdbool.h>

typedef struct lk_arena_store lk_arena_store;

typedef struct lk_arena {
  void *data; /* aligned to LK_DATA_ALIGNMENT */
  uint64_t bytes;
  /* arena_store.c's */
  struct lk_arena *next;
  uint64_t most;    /* that was needed of it since it was looked at */
  uint32_t uses;    /* since then */
  bool was_touched; /* since the idle ones were looked at */
} lk_arena;

/* That of the context: the one that other executors have open, or a new one. */
lk_status lk_arena_store_open(const lk_api *api, lk_context *context, lk_arena_store **out_store,
                              lk_error *error);
/* The last one to close frees what is idle; nobody has an arena then. NULL is allowed. */
void lk_arena_store_close(lk_arena_store *store);

/* An arena of at least `bytes`. */
lk_status lk_arena_take(lk_arena_store *store, uint64_t bytes, lk_arena **out_arena,
                        lk_error *error);
void lk_arena_give(lk_arena_store *store, lk_arena *arena);

/* Frees what is idle. */
void lk_arena_store_trim(lk_arena_store *store);
/* Of all arenas, idle or not. */
uint64_t lk_arena_store_bytes(const lk_arena_store *store);
/* The same of a context, which need not have a store. */
uint64_t lk_arena_store_bytes_of(const lk_context *context);
