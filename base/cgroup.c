#include "base/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The longest path to a control group. */
enum { PATH_CAPACITY = 4096, NAME_CAPACITY = 32 };

static long long read_file(const char *folder, const char *name, lk_cgroup_read_fn *read) {
  char path[PATH_CAPACITY + NAME_CAPACITY];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "re");
  if (file == NULL) return 0;
  char text[64];
  const bool is_read = fgets(text, sizeof text, file) != NULL;
  (void)fclose(file);
  return is_read ? read(text) : 0;
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

long long lk_cgroup_least(const char *membership, const char *root, const char *file,
                          lk_cgroup_read_fn *read) {
  char group[PATH_CAPACITY], folder[PATH_CAPACITY];
  long long least = 0;
  if (!read_group(membership, group)) return 0;
  for (;;) {
    const int length = snprintf(folder, sizeof folder, "%s%s", root, group);
    const bool fits = length > 0 && (size_t)length < sizeof folder;
    const long long limit = fits ? read_file(folder, file, read) : 0;
    if (limit > 0 && (least == 0 || limit < least)) least = limit;
    char *slash = strrchr(group, '/');
    if (slash == NULL) return least;
    *slash = '\0';
  }
}
