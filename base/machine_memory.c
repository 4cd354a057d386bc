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

uint64_t lk_machine_memory(bool *out_by_group) {
  const uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES); /* cannot fail on Linux */
  const uint64_t all = pages * (uint64_t)sysconf(_SC_PAGE_SIZE);
  const uint64_t limit = lk_machine_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup");
  const bool by_group = limit > 0 && limit < all;
  if (out_by_group != NULL) *out_by_group = by_group;
  return by_group ? limit : all;
}
