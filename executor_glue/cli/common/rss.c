/* How much memory this process has in RAM. */
#include "executor_glue/cli/common/rss.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

uint64_t rss_now(void) {
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL) return 0;
  uint64_t total = 0;
  uint64_t resident = 0;
  int fields = fscanf(file, "%" SCNu64 " %" SCNu64, &total, &resident);
  (void)fclose(file);
  long page = sysconf(_SC_PAGESIZE);
  return fields == 2 && page > 0 ? resident * (uint64_t)page : 0;
}

uint64_t rss_peak(void) {
  FILE *file = fopen("/proc/self/status", "re");
  if (file == NULL) return 0;
  char line[256];
  uint64_t kib = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "VmHWM: %" SCNu64 " kB", &kib) == 1) break;
  }
  (void)fclose(file);
  return kib * 1024;
}

void rss_forget_peak(void) {
  FILE *file = fopen("/proc/self/clear_refs", "we");
  if (file == NULL) return;
  (void)fputs("5", file); /* proc(5): sets the peak to what there is now */
  (void)fclose(file);
}
