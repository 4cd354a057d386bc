/* Memory that is mapped and may be gone all the same: of a file that was cut. */
#include "base/readable.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

bool lk_is_readable(const void *bytes, size_t size) {
  if (size == 0) return true;
  const uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t page = ((uintptr_t)bytes + size - 1) / page_size * page_size;
  /* The page is brought in as by reading it, but what would be a signal is an error. */
  return madvise((void *)page, page_size, MADV_POPULATE_READ) == 0 || errno != EFAULT;
}
