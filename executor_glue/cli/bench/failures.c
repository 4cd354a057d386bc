/* What went wrong with requests: sentences, and how often each. */
#include "executor_glue/cli/bench/failures.h"

#include <stdio.h>
#include <string.h>

static void add(bench_failures *self, const char *message, uint64_t count) {
  for (uint32_t i = 0; i < self->n_kept; i++) {
    if (strcmp(self->messages[i], message) != 0) continue;
    self->counts[i] += count;
    return;
  }
  if (self->n_kept == BENCH_FAILURES_KEPT) return;
  (void)snprintf(self->messages[self->n_kept], LK_ERROR_CAPACITY, "%s", message);
  self->counts[self->n_kept++] = count;
}

void bench_failures_note(bench_failures *self, const char *message) {
  self->count++;
  add(self, message, 1);
}

void bench_failures_merge(bench_failures *self, const bench_failures *from) {
  self->count += from->count;
  for (uint32_t i = 0; i < from->n_kept; i++) add(self, from->messages[i], from->counts[i]);
}
