/* The processors that this process may use. */
#pragma once

#include <stdbool.h>

/* Those that the scheduler may choose for this thread, or fewer where the control group of the
 * process has a quota of processor time; at least 1. Reads files, so ask once. */
int lk_processors_allowed(void);

/* They are fewer than the scheduler may choose, by the quota. */
bool lk_processors_by_quota(void);

/* The quota of a control group (version 2) in processors, rounded up; 0: it has no quota. The
 * quotas of the groups above it hold too. `membership` is a file like /proc/self/cgroup, `root` a
 * folder of groups like /sys/fs/cgroup. Source: Documentation/admin-guide/cgroup-v2.rst of Linux,
 * "cpu.max". */
int lk_processors_quota(const char *membership, const char *root);
