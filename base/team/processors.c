#include "base/team/processors.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "base/cgroup.h"

/* The mask of a large machine does not fit into a cpu_set_t: EINVAL until it is long enough. */
static int scheduled(void) {
  for (int capacity = CPU_SETSIZE; capacity <= 1 << 16; capacity *= 2) {
    cpu_set_t *set = CPU_ALLOC((size_t)capacity);
    if (set == NULL) break;
    const size_t size = CPU_ALLOC_SIZE((size_t)capacity);
    const int failed = sched_getaffinity(0, size, set);
    const int count = failed == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 1;
}

/* "<quota> <period>" in microseconds, or "max <period>". */
static long long read_quota(const char *text) {
  char *end = NULL;
  const long long quota = strtoll(text, &end, 10);
  const long long period = strtoll(end, NULL, 10);
  if (end == text || quota <= 0 || period <= 0) return 0; /* "max" */
  const long long processors = quota / period + (quota % period != 0);
  return processors < INT_MAX ? processors : INT_MAX;
}

int lk_processors_quota(const char *membership, const char *root) {
  return (int)lk_cgroup_least(membership, root, "cpu.max", read_quota);
}

static int own_quota(void) {
  return lk_processors_quota("/proc/self/cgroup", "/sys/fs/cgroup");
}

int lk_processors_allowed(void) {
  const int count = scheduled(), quota = own_quota();
  return quota > 0 && quota < count ? quota : count;
}

bool lk_processors_by_quota(void) {
  const int quota = own_quota();
  return quota > 0 && quota < scheduled();
}
