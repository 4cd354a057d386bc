/* Memory: all that the C library gives, for itself too. It counts what has not been freed. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/faults/interpose.h"

/* What the C library calls its own. It needs no look-up, which would ask for memory itself. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static atomic_long n_blocks, n_mapped;

fault_live fault_live_get(void) {
  return (fault_live){.blocks = atomic_load(&n_blocks), .maps = atomic_load(&n_mapped)};
}

void fault_count_maps(long bytes) {
  atomic_fetch_add(&n_mapped, bytes);
}

static void *counted(void *block) {
  if (block != NULL) atomic_fetch_add(&n_blocks, 1);
  return block;
}

static bool is_refused(void) {
  if (!fault_takes(FAULT_MEMORY)) return false;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t size) {
  return is_refused() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
  return is_refused() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size) {
  if (block == NULL) return malloc(size);
  if (size != 0 && is_refused()) return NULL;
  void *moved = __libc_realloc(block, size);
  if (size == 0 && moved == NULL) atomic_fetch_sub(&n_blocks, 1); /* it has been freed */
  return moved;
}

void *aligned_alloc(size_t alignment, size_t size) {
  return is_refused() ? NULL : counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  const int before = errno; /* stays as it is */
  void *block = aligned_alloc(alignment, size);
  errno = before;
  if (block == NULL) return ENOMEM;
  *out = block;
  return 0;
}

void free(void *block) {
  if (block == NULL) return;
  atomic_fetch_sub(&n_blocks, 1);
  __libc_free(block);
}
