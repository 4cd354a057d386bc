/* A bump allocator: memory that is taken piece by piece, and given back all together.
 *
 * Thread rule: one thread at a time. */
#pragma once

#include <latchkey/base.h>

typedef struct lk_bump {
  const lk_allocator *allocator;
  struct lk_bump_chunk *chunks;   /* from the allocator */
  size_t taken;                   /* bytes that the allocator has given for them */
  unsigned char *at, *end;        /* what is left of the chunk that is being filled */
  size_t chunk_bytes, most_bytes; /* of the next chunk; each is twice as large, up to the most */
} lk_bump;

/* `room` is used first: `room_bytes` of the caller's, which stay valid until lk_bump_end; NULL:
 * none. Then chunks of `chunk_bytes`, unless the caller sets `most_bytes` to more. */
lk_bump lk_bump_begin(const lk_allocator *allocator, void *room, size_t room_bytes,
                      size_t chunk_bytes);
/* Takes everything back. */
void lk_bump_end(lk_bump *self);
/* All pieces of `other`, which has the same allocator and began without room of a caller's, belong
 * to `self` from here on, and stay where they are. `other` is empty. */
void lk_bump_absorb(lk_bump *self, lk_bump *other);

enum { LK_BUMP_ALIGNMENT = 16 }; /* of any type */

static inline size_t lk_bump_round(size_t bytes) {
  return (bytes + LK_BUMP_ALIGNMENT - 1) / LK_BUMP_ALIGNMENT * LK_BUMP_ALIGNMENT;
}
/* From a new chunk. */
void *lk_bump_alloc_more(lk_bump *self, size_t bytes);

/* `bytes` for any type; NULL: no memory. */
static inline void *lk_bump_alloc(lk_bump *self, size_t bytes) {
  unsigned char *piece = self->at;
  const size_t left = (size_t)(self->end - piece); /* a multiple of the alignment */
  if (bytes > left || left == 0) return lk_bump_alloc_more(self, bytes);
  self->at = piece + lk_bump_round(bytes);
  return piece;
}

/* Makes room for one more element in a dynamic array, as LK_GROW does. The former array stays where
 * it is until the end. */
#define LK_BUMP_GROW(bump, items, count, capacity)                                                 \
  lk_bump_grow((bump), (void **)&(items), (count), &(capacity), sizeof *(items))
/* To a larger array. */
int lk_bump_grow_more(lk_bump *self, void **items, size_t count, size_t *capacity,
                      size_t item_size);
/* Returns 0 when there is no memory. */
static inline int lk_bump_grow(lk_bump *self, void **items, size_t count, size_t *capacity,
                               size_t item_size) {
  return count < *capacity || lk_bump_grow_more(self, items, count, capacity, item_size);
}
