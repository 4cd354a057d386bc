/* The memory that this process may use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Bytes: of the machine, or fewer where the process's control group has a limit: then
 * `*out_by_group`, which may be NULL. Reads files, so ask once. */
uint64_t lk_machine_memory(bool *out_by_group);

/* The limit of a control group (version 2) in bytes; 0: it has none. Arguments as of
 * lk_cgroup_least. */
uint64_t lk_machine_memory_limit(const char *membership, const char *root);
