/* Memory for the activations of one run, and lists of arenas that no run needs just now. */
#pragma once

#include <latchkey/base.h>

typedef struct lk_arena {
  struct lk_arena *next;
  void *data;
  uint64_t bytes;
} lk_arena;

lk_status lk_arena_create(const lk_allocator *allocator, uint64_t bytes, lk_arena **out_arena,
                          lk_error *error);
void lk_arena_destroy(const lk_allocator *allocator, lk_arena *arena); /* NULL is allowed */

/* Takes the smallest arena that is large enough out of the list. NULL: none is. The largest is then
 * taken out as `*out_small` (else NULL), for the caller to destroy: a larger one takes its place,
 * so that their number does not grow. */
lk_arena *lk_arena_take(lk_arena **list, uint64_t bytes, lk_arena **out_small);
