#include "base/team/processors.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest path to a control group. */
enum { PATH_CAPACITY = 4096 };

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
static int read_quota(const char *folder) {
  char path[PATH_CAPACITY + sizeof "/cpu.max"];
  (void)snprintf(path, sizeof path, "%s/cpu.max", folder);
  FILE *file = fopen(path, "re");
  if (file == NULL) return 0;
  char text[64];
  const bool is_read = fgets(text, sizeof text, file) != NULL;
  (void)fclose(file);
  if (!is_read) return 0;
  char *end = NULL;
  const long long quota = strtoll(text, &end, 10);
  const long long period = strtoll(end, NULL, 10);
  if (end == text || quota <= 0 || period <= 0) return 0; /* "max" */
  const long long processors = quota / period + (quota % period != 0);
  return processors < INT_MAX ? (int)processors : INT_MAX;
}

/* The line of version 2 is "0::<path>". */
static bool read_group(const char *membership, char path[PATH_CAPACITY]) {
  FILE *file = fopen(membership, "re");
  if (file == NULL) return false;
  char line[PATH_CAPACITY];
  bool found = false;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    found = strncmp(line, "0::/", 4) == 0;
  }
  (void)fclose(file);
  if (!found) return false;
  line[strcspn(line, "\n")] = '\0';
  memcpy(path, line + 3, strlen(line + 3) + 1);
  return true;
}

int lk_processors_quota(const char *membership, const char *root) {
  char group[PATH_CAPACITY], folder[PATH_CAPACITY];
  int least = 0;
  if (!read_group(membership, group)) return 0;
  for (;;) {
    const int length = snprintf(folder, sizeof folder, "%s%s", root, group);
    const int quota = length > 0 && (size_t)length < sizeof folder ? read_quota(folder) : 0;
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    char *slash = strrchr(group, '/');
    if (slash == NULL) return least;
    *slash = '\0';
  }
}

int lk_processors_allowed(void) {
  const int count = scheduled();
  const int quota = lk_processors_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  return quota > 0 && quota < count ? quota : count;
}
