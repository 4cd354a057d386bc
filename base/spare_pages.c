#include "base/spare_pages.h"

#include "base/most.h"
#include "base/pages.h"

/* A block's mapping begins at a multiple of more pages than any block has that is kept, so one word
 * says both: who takes the word has the block. */
#define PAGES_MASK ((uint64_t)LK_PAGES_ALIGNMENT - 1)
_Static_assert(LK_SPARE_BYTES / LK_PAGE <= PAGES_MASK, "a block's pages fit into its word");

static uint64_t word_of(void *block) {
  return (uintptr_t)block - LK_PAGE + lk_pages_bytes(block) / LK_PAGE;
}

static void *block_of(uint64_t word) {
  return (void *)(uintptr_t)((word & ~PAGES_MASK) + LK_PAGE);
}

static uint64_t bytes_of(uint64_t word) {
  return (word & PAGES_MASK) * LK_PAGE;
}

/* Puts `word` where `old` was, and takes that. False: it is no more. What is there is counted as
 * long as it is there, and somewhat longer. */
static bool replace(lk_spare_pages *self, uint32_t i, uint64_t old, uint64_t word) {
  const uint64_t taken = old;
  if (word != 0) __atomic_fetch_add(&self->bytes, bytes_of(word), __ATOMIC_RELAXED);
  const bool done = __atomic_compare_exchange_n(&self->blocks[i], &old, word, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  const uint64_t gone = done ? bytes_of(taken) : bytes_of(word);
  if (gone != 0) __atomic_fetch_sub(&self->bytes, gone, __ATOMIC_RELAXED);
  return done;
}

static uint64_t end(uint64_t word) {
  if (word != 0) lk_pages_free(block_of(word));
  return bytes_of(word);
}

void lk_spare_pages_use(lk_spare_pages *self, void *block) {
  const uint64_t bytes = lk_pages_bytes(block);
  lk_most_note(&self->most_used, __atomic_add_fetch(&self->used, bytes, __ATOMIC_RELAXED));
}

static uint64_t limit_of(const lk_spare_pages *self) {
  const uint64_t most = __atomic_load_n(&self->most_used, __ATOMIC_RELAXED);
  if (most < LK_SPARE_LEAST_BYTES) return LK_SPARE_LEAST_BYTES;
  return most < LK_SPARE_BYTES ? most : LK_SPARE_BYTES;
}

void *lk_spare_pages_take(lk_spare_pages *self, size_t size) {
  for (uint32_t i = 0; i < LK_SPARE_BLOCKS; i++) {
    const uint64_t word = __atomic_load_n(&self->blocks[i], __ATOMIC_RELAXED);
    if (word == 0) continue;
    const size_t room = bytes_of(word) - LK_PAGE;
    if (room < size || room - size > room / 4) continue;
    if (!replace(self, i, word, 0)) continue;
    lk_spare_pages_use(self, block_of(word));
    return block_of(word);
  }
  return NULL;
}

static bool put(lk_spare_pages *self, uint64_t word) {
  for (uint32_t i = 0; i < LK_SPARE_BLOCKS; i++) {
    if (__atomic_load_n(&self->blocks[i], __ATOMIC_RELAXED) == 0 && replace(self, i, 0, word)) {
      return true;
    }
  }
  return false;
}

/* Puts `word` where the oldest one is, and frees that. */
static uint64_t put_for_oldest(lk_spare_pages *self, uint64_t word) {
  for (;;) {
    const uint32_t i = __atomic_fetch_add(&self->oldest, 1, __ATOMIC_RELAXED) % LK_SPARE_BLOCKS;
    const uint64_t old = __atomic_load_n(&self->blocks[i], __ATOMIC_RELAXED);
    if (replace(self, i, old, word)) return end(old);
  }
}

uint64_t lk_spare_pages_keep(lk_spare_pages *self, void *block) {
  const uint64_t bytes = lk_pages_bytes(block), limit = limit_of(self);
  __atomic_fetch_sub(&self->used, bytes, __ATOMIC_RELAXED);
  if (bytes > limit) {
    lk_pages_free(block);
    return bytes;
  }
  const uint64_t word = word_of(block);
  uint64_t freed = put(self, word) ? 0 : put_for_oldest(self, word);
  for (int i = 0; i < LK_SPARE_BLOCKS && lk_spare_pages_bytes(self) > limit; i++) {
    freed += put_for_oldest(self, 0);
  }
  return freed;
}

uint64_t lk_spare_pages_drop(lk_spare_pages *self) {
  uint64_t freed = 0;
  for (uint32_t i = 0; i < LK_SPARE_BLOCKS; i++) {
    const uint64_t word = __atomic_load_n(&self->blocks[i], __ATOMIC_RELAXED);
    if (word != 0 && replace(self, i, word, 0)) freed += end(word);
  }
  return freed;
}

uint64_t lk_spare_pages_bytes(const lk_spare_pages *self) {
  return __atomic_load_n(&self->bytes, __ATOMIC_RELAXED);
}
