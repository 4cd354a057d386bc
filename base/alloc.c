/* Memory, always through an lk_allocator, so that a host can count it and a test can fail it. */
#include "base/alloc.h"

#include <malloc.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

/* glibc cuts an aligned block out of a larger one, and frees the rests before and behind it. A rest
 * of less than 1 KiB is not merged with what is free beside it: it waits for the next request of
 * its size, and may then be in use for long behind a large block that has gone. At this alignment
 * hardly any rest of a large block is so small. */
enum { LARGE_BLOCK = 256 * 1024, LARGE_ALIGNMENT = 64 * 1024 };

/* From here on blocks have pages of their own, of which some stay (base/spare_pages.h). glibc gives
 * the end of its heap back to the system as soon as 128 KiB of it are free: each run would wait for
 * pages again. */
enum { LEAST_OF_PAGES = 32 * 1024 };

static void *block_of_malloc(size_t size, size_t alignment) {
  if (alignment <= alignof(max_align_t)) return malloc(size);
  if (size >= LARGE_BLOCK && alignment < LARGE_ALIGNMENT) alignment = LARGE_ALIGNMENT;
  void *pointer = NULL;
  return posix_memalign(&pointer, alignment, size) == 0 ? pointer : NULL;
}

/* An alignment to pages asks for pages of one's own, if there are not too many already. Where a
 * block lies tells how it is freed, so none of malloc's is left where they lie. */
static void *default_alloc(void *user, size_t size, size_t alignment) {
  if (alignment >= LK_PAGE && !lk_pages_are_many()) return lk_pages_alloc(size);
  void *pointer = block_of_malloc(size, alignment);
  if (pointer == NULL || !lk_pages_may_lie_at(pointer)) return pointer;
  /* While it is there, a block of another size cannot lie just as far behind the next such place.
   */
  const size_t step = size >= LARGE_BLOCK ? LARGE_ALIGNMENT : LK_DATA_ALIGNMENT;
  void *other = size <= SIZE_MAX - step ? default_alloc(user, size + step, alignment) : NULL;
  free(pointer);
  return other;
}

static void default_free(void *user, void *pointer) {
  (void)user;
  if (lk_pages_may_lie_at(pointer)) {
    lk_pages_free(pointer);
  } else {
    free(pointer);
  }
}

size_t lk_block_bytes(void *block) {
  if (lk_pages_may_lie_at(block)) return lk_pages_bytes(block);
  return malloc_usable_size(block) + sizeof(size_t); /* and its size, which lies before it */
}

const lk_allocator *lk_allocator_default(void) {
  static const lk_allocator allocator = {NULL, default_alloc, default_free};
  return &allocator;
}

void *lk_alloc_aligned(const lk_allocator *allocator, size_t size, size_t alignment) {
  return allocator->alloc(allocator->user, size > 0 ? size : 1, alignment);
}

void *lk_alloc_pages(const lk_allocator *allocator, size_t size) {
  const size_t alignment = size >= LEAST_OF_PAGES ? LK_PAGE : LK_DATA_ALIGNMENT;
  return lk_alloc_aligned(allocator, size, alignment);
}

void *lk_alloc(const lk_allocator *allocator, size_t size) {
  return lk_alloc_aligned(allocator, size, alignof(max_align_t));
}

void *lk_calloc(const lk_allocator *allocator, size_t count, size_t size) {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return NULL;
  void *pointer = lk_alloc(allocator, total);
  if (pointer != NULL) memset(pointer, 0, total);
  return pointer;
}

void *lk_calloc_lines(const lk_allocator *allocator, size_t size) {
  if (size > SIZE_MAX - LK_CACHE_LINE) return NULL;
  size = (size + LK_CACHE_LINE - 1) / LK_CACHE_LINE * LK_CACHE_LINE;
  void *pointer = lk_alloc_aligned(allocator, size, LK_CACHE_LINE);
  if (pointer != NULL) memset(pointer, 0, size);
  return pointer;
}

void *lk_realloc(const lk_allocator *allocator, void *pointer, size_t old_size, size_t new_size) {
  void *copy = lk_alloc(allocator, new_size);
  if (copy == NULL) return NULL;
  if (pointer != NULL) memcpy(copy, pointer, old_size < new_size ? old_size : new_size);
  lk_free(allocator, pointer);
  return copy;
}

char *lk_strndup(const lk_allocator *allocator, const char *text, size_t length) {
  char *copy = lk_alloc(allocator, length + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

char *lk_strdup(const lk_allocator *allocator, const char *text) {
  return lk_strndup(allocator, text, strlen(text));
}

void lk_free(const lk_allocator *allocator, void *pointer) {
  if (pointer != NULL) allocator->free(allocator->user, pointer);
}

int lk_grow(const lk_allocator *allocator, void **items, size_t count, size_t *capacity,
            size_t item_size) {
  if (count < *capacity) return 1;
  size_t wanted = *capacity > 0 ? *capacity * 2 : 8;
  size_t bytes = 0;
  if (__builtin_mul_overflow(wanted, item_size, &bytes)) return 0;
  void *grown = lk_realloc(allocator, *items, count * item_size, bytes);
  if (grown == NULL) return 0;
  *items = grown;
  *capacity = wanted;
  return 1;
}
