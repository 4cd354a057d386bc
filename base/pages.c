#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

static uint32_t n_blocks;

/* The first page of a mapping has its size, at the end; the block follows. */
static size_t *size_before(const void *block) {
  return (size_t *)(uintptr_t)block - 1;
}

static void unmap(char *from, const char *to) {
  if (from < to) (void)munmap(from, (size_t)(to - from)); /* what stays is of address space alone */
}

static void *map_block(size_t size) {
  const size_t bytes = LK_PAGE + (size + LK_PAGE - 1) / LK_PAGE * LK_PAGE;
  const size_t reserved = bytes + LK_PAGES_ALIGNMENT;
  char *found = mmap(NULL, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return NULL;
  char *mapping = found + (-(uintptr_t)found & (LK_PAGES_ALIGNMENT - 1));
  unmap(found, mapping);
  unmap(mapping + bytes, found + reserved);
  char *block = mapping + LK_PAGE;
  *size_before(block) = bytes;
  return block;
}

void *lk_pages_alloc(size_t size) {
  if (size > PTRDIFF_MAX / 2) return NULL;
  void *block = map_block(size);
  if (block != NULL) __atomic_fetch_add(&n_blocks, 1, __ATOMIC_RELAXED);
  return block;
}

void lk_pages_free(void *block) {
  (void)munmap((char *)block - LK_PAGE, *size_before(block));
  __atomic_fetch_sub(&n_blocks, 1, __ATOMIC_RELAXED);
}

bool lk_pages_are_many(void) {
  return __atomic_load_n(&n_blocks, __ATOMIC_RELAXED) >= LK_PAGES_MANY;
}

size_t lk_pages_bytes(const void *block) {
  return *size_before(block);
}

bool lk_pages_may_lie_at(const void *address) {
  return (uintptr_t)address % LK_PAGES_ALIGNMENT == LK_PAGE;
}
