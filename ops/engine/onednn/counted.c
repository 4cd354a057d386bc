/* What oneDNN allocates while this thread builds something. */
#include "ops/engine/onednn/counted.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ops/engine/onednn/wrapped.h"

enum { MOST_PAGES = 1024 };

/* Of the build of this thread; NULL: there is none. With this model the module's thread-local
 * memory is set aside when it is loaded, which fails with a sentence. By default each thread
 * allocates it at its first use of it, and glibc ends the process where that fails. */
static _Thread_local lk_counted *counted __attribute__((tls_model("initial-exec")));

static void *add(void *block) {
  if (counted != NULL) counted->bytes += (int64_t)malloc_usable_size(block);
  return block;
}

void *__wrap_malloc(size_t size) {
  return add(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
  return add(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size) {
  const int64_t before = counted != NULL ? (int64_t)malloc_usable_size(old) : 0;
  void *block = __real_realloc(old, size);
  if (counted != NULL && block != NULL) counted->bytes -= before;
  return block != NULL ? add(block) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return add(__real_aligned_alloc(alignment, size));
}

void *__wrap_memalign(size_t alignment, size_t size) {
  return add(__real_memalign(alignment, size));
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
  const int failed = __real_posix_memalign(out, alignment, size);
  if (failed == 0) (void)add(*out);
  return failed;
}

void __wrap_free(void *block) {
  if (counted != NULL) counted->bytes -= (int64_t)malloc_usable_size(block);
  __real_free(block);
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  void *mapped = __real_mmap(at, bytes, protection, flags, fd, offset);
  if (counted == NULL || mapped == MAP_FAILED) return mapped;
  if (counted->n_mappings < LK_COUNTED_MAPPINGS) {
    counted->mappings[counted->n_mappings++] = (lk_mapping){mapped, bytes};
  } else {
    counted->bytes += (int64_t)bytes;
  }
  return mapped;
}

int __wrap_munmap(void *at, size_t bytes) {
  for (unsigned i = 0; counted != NULL && i < counted->n_mappings; i++) {
    if (counted->mappings[i].at != at) continue;
    counted->mappings[i] = counted->mappings[--counted->n_mappings];
    break;
  }
  return __real_munmap(at, bytes);
}

/* A mapping whose pages cannot be asked for counts as all resident. */
static size_t count_resident(const lk_mapping *of) {
  unsigned char is_there[MOST_PAGES];
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (of->bytes + page - 1) / page;
  size_t resident = 0;
  if (pages > MOST_PAGES || mincore(of->at, of->bytes, is_there) != 0) return of->bytes;
  for (size_t i = 0; i < pages; i++) resident += (is_there[i] & 1) != 0 ? page : 0;
  return resident;
}

void lk_counted_begin(lk_counted *into) {
  counted = into;
  into->bytes = 0;
  into->n_mappings = 0;
}

uint64_t lk_counted_end(const lk_work *work) {
  (void)work;
  int64_t bytes = counted->bytes;
  for (unsigned i = 0; i < counted->n_mappings; i++) {
    bytes += (int64_t)count_resident(&counted->mappings[i]);
  }
  counted = NULL;
  return bytes > 0 ? (uint64_t)bytes : 0;
}
