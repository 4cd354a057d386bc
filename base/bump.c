#include "base/bump.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum { FIRST_CAPACITY = 4 };

_Static_assert(alignof(max_align_t) == LK_BUMP_ALIGNMENT, "pieces are for any type");

typedef struct lk_bump_chunk {
  struct lk_bump_chunk *next;
  alignas(max_align_t) unsigned char bytes[];
} lk_bump_chunk;

/* The next pieces come from `memory`. */
static void fill_from(lk_bump *self, void *memory, size_t bytes) {
  const size_t mask = LK_BUMP_ALIGNMENT - 1;
  const size_t skipped = (size_t)(-(uintptr_t)memory & mask);
  self->at = self->end = memory;
  if (bytes < skipped) return;
  self->at += skipped;
  self->end += skipped + ((bytes - skipped) & ~mask);
}

lk_bump lk_bump_begin(const lk_allocator *allocator, void *room, size_t room_bytes,
                      size_t chunk_bytes) {
  lk_bump self = {.allocator = allocator, .chunk_bytes = chunk_bytes, .most_bytes = chunk_bytes};
  if (room != NULL) fill_from(&self, room, room_bytes);
  return self;
}

void lk_bump_end(lk_bump *self) {
  while (self->chunks != NULL) {
    lk_bump_chunk *next = self->chunks->next;
    lk_free(self->allocator, self->chunks);
    self->chunks = next;
  }
  self->at = self->end = NULL;
  self->taken = 0;
}

void lk_bump_absorb(lk_bump *self, lk_bump *other) {
  lk_bump_chunk **last = &other->chunks;
  while (*last != NULL) last = &(*last)->next;
  *last = self->chunks;
  self->chunks = other->chunks;
  self->taken += other->taken;
  other->chunks = NULL;
  other->at = other->end = NULL;
  other->taken = 0;
}

static void *add_chunk(lk_bump *self, size_t bytes) {
  lk_bump_chunk *fresh = lk_alloc(self->allocator, sizeof *fresh + bytes);
  if (fresh == NULL) return NULL;
  fresh->next = self->chunks;
  self->chunks = fresh;
  self->taken += sizeof *fresh + bytes;
  return fresh->bytes;
}

void *lk_bump_alloc_more(lk_bump *self, size_t bytes) {
  if (bytes > SIZE_MAX - LK_BUMP_ALIGNMENT - sizeof(lk_bump_chunk)) return NULL;
  /* a large piece has a chunk of its own, and leaves what there is to small ones */
  if (bytes > self->chunk_bytes / 4) return add_chunk(self, bytes);
  void *chunk = add_chunk(self, self->chunk_bytes);
  if (chunk == NULL) return NULL;
  fill_from(self, chunk, self->chunk_bytes);
  if (self->chunk_bytes < self->most_bytes) self->chunk_bytes *= 2;
  void *piece = self->at;
  self->at += lk_bump_round(bytes);
  return piece;
}

int lk_bump_grow_more(lk_bump *self, void **items, size_t count, size_t *capacity,
                      size_t item_size) {
  size_t bytes = 0;
  const size_t grown = *capacity > 0 ? 2 * *capacity : FIRST_CAPACITY;
  if (__builtin_mul_overflow(grown, item_size, &bytes)) return 0;
  void *copy = lk_bump_alloc(self, bytes);
  if (copy == NULL) return 0;
  if (count > 0) memcpy(copy, *items, count * item_size);
  *items = copy;
  *capacity = grown;
  return 1;
}
