/* A bump allocator: memory that is taken piece by piece, and given back all together.
 *
 * Thread rule: one thread at a time. */
#pragma once

#include <latchkey/base.h>

typedef struct lk_bump {
  const lk_allocator *allocator;
  struct lk_bump_chunk *chunks; /* from the allocator */
  unsigned char *at, *end;      /* what is left of the chunk that is being filled */
  size_t chunk_bytes;
} lk_bump;

/* `room` is used first: `room_bytes` of the caller's, which stay valid until lk_bump_end; NULL:
 * none. Then chunks of `chunk_bytes`. */
lk_bump lk_bump_begin(const lk_allocator *allocator, void *room, size_t room_bytes,
                      size_t chunk_bytes);
/* Takes everything back. */
void lk_bump_end(lk_bump *self);

/* `bytes` for any type; NULL: no memory. */
void *lk_bump_alloc(lk_bump *self, size_t bytes);

/* Makes room for one more element in a dynamic array, as LK_GROW does. The former array stays where
 * it is until the end. */
#define LK_BUMP_GROW(bump, items, count, capacity)                                                 \
  lk_bump_grow((bump), (void **)&(items), (count), &(capacity), sizeof *(items))
/* Returns 0 when there is no memory. */
int lk_bump_grow(lk_bump *self, void **items, size_t count, size_t *capacity, size_t item_size);
