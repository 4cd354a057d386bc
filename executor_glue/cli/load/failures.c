/* What went wrong under load: sentences, and how often each. */
#include "executor_glue/cli/load/failures.h"

#include <stdio.h>
#include <string.h>

static void add(load_failures *self, const char *message, uint64_t count) {
  for (uint32_t i = 0; i < self->n_kept; i++) {
    if (strcmp(self->messages[i], message) != 0) continue;
    self->counts[i] += count;
    return;
  }
  if (self->n_kept == LOAD_FAILURES_KEPT) return;
  (void)snprintf(self->messages[self->n_kept], LK_ERROR_CAPACITY, "%s", message);
  self->counts[self->n_kept++] = count;
}

void load_failures_note(load_failures *self, const char *message) {
  self->count++;
  add(self, message, 1);
}

void load_failures_merge(load_failures *self, const load_failures *from) {
  self->count += from->count;
  for (uint32_t i = 0; i < from->n_kept; i++) add(self, from->messages[i], from->counts[i]);
}
