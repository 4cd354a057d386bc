#include "base/team/processors.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "base/cgroup.h"

/* The mask of a large machine does not fit into one cpu_set_t: room for 65,536 processors. */
static int scheduled(void) {
  cpu_set_t mask[(1 << 16) / CPU_SETSIZE];
  const int failed = sched_getaffinity(0, sizeof mask, mask);
  const int count = failed == 0 ? CPU_COUNT_S(sizeof mask, mask) : 0;
  return count > 0 ? count : 1;
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
