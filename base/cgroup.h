/* The control groups of a process (version 2). Limits of the groups above a group hold for it too.
 * Source: Documentation/admin-guide/cgroup-v2.rst of Linux. */
#pragma once

/* The limit that a file of a group's folder says, such as "cpu.max"; 0: none. */
typedef long long lk_cgroup_read_fn(const char *text);

/* The least limit of `file` in the group that `membership` names, a file like /proc/self/cgroup,
 * and in those above it; 0: there is none. `root` is a folder of groups like /sys/fs/cgroup. Reads
 * files, so ask once. */
long long lk_cgroup_least(const char *membership, const char *root, const char *file,
                          lk_cgroup_read_fn *read);
