#include "base/machine_memory.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cgroup.h"

/* "<bytes>", or "max". */
static long long read_bytes(const char *text) {
  const long long bytes = strtoll(text, NULL, 10);
  return bytes > 0 ? bytes : 0;
}

uint64_t lk_machine_memory_limit(const char *membership, const char *root) {
  return (uint64_t)lk_cgroup_least(membership, root, "memory.max", read_bytes);
}

static uint64_t physical(void) {
  const uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES); /* cannot fail on Linux */
  return pages * (uint64_t)sysconf(_SC_PAGE_SIZE);
}

static uint64_t own_limit(void) {
  return lk_machine_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup");
}

uint64_t lk_machine_memory(void) {
  const uint64_t all = physical(), limit = own_limit();
  return limit > 0 && limit < all ? limit : all;
}

bool lk_machine_memory_by_group(void) {
  const uint64_t limit = own_limit();
  return limit > 0 && limit < physical();
}
