#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

/* A mapping begins at a multiple of a huge page, so that the system may use those. Its first page
 * has its size, at the end; the block follows. */
#define HUGE_PAGE ((size_t)2 << 20)

static size_t *size_before(const void *block) {
  return (size_t *)(uintptr_t)block - 1;
}

static void unmap(char *from, const char *to) {
  if (from < to) (void)munmap(from, (size_t)(to - from)); /* what stays is of address space alone */
}

void *lk_pages_alloc(size_t size) {
  if (size > PTRDIFF_MAX / 2) return NULL;
  const size_t bytes = LK_PAGE + (size + LK_PAGE - 1) / LK_PAGE * LK_PAGE;
  const size_t reserved = bytes + HUGE_PAGE;
  char *found = mmap(NULL, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return NULL;
  char *mapping = found + (-(uintptr_t)found & (HUGE_PAGE - 1));
  unmap(found, mapping);
  unmap(mapping + bytes, found + reserved);
  char *block = mapping + LK_PAGE;
  *size_before(block) = bytes;
  return block;
}

void lk_pages_free(void *block) {
  (void)munmap((char *)block - LK_PAGE, *size_before(block));
}

size_t lk_pages_bytes(const void *block) {
  return *size_before(block);
}

bool lk_pages_may_lie_at(const void *address) {
  return (uintptr_t)address % HUGE_PAGE == LK_PAGE;
}
