#include "executor_glue/run/run_times.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"

lk_status lk_run_times_begin(lk_run_times *self, const lk_allocator *allocator, lk_labels *labels,
                             lk_error *error) {
  const size_t count = labels->n_steps;
  if (count > self->capacity) {
    lk_run_times_end(self, allocator);
    self->times = lk_calloc(allocator, count, sizeof *self->times);
    self->threads = lk_calloc(allocator, count, sizeof *self->threads);
    if (self->times == NULL || self->threads == NULL) {
      lk_run_times_end(self, allocator);
      return lk_fail_memory(error, "the times of a run",
                            count * (sizeof *self->times + sizeof *self->threads));
    }
    self->capacity = count;
  }
  if (count > 0) {
    memset(self->times, 0, count * sizeof *self->times);
    memset(self->threads, 0, count * sizeof *self->threads);
  }
  self->labels = labels;
  self->begin_ns = self->end_ns = 0;
  self->n_threads = self->step_threads = 0;
  return LK_OK;
}

void lk_run_times_note_thread(lk_run_times *self, uint32_t step) {
  const int32_t thread = (int32_t)gettid();
  for (uint32_t i = self->labels->first[step]; i < self->labels->first[step + 1]; i++) {
    self->threads[i] = thread;
  }
}

void lk_run_times_end(lk_run_times *self, const lk_allocator *allocator) {
  lk_free(allocator, self->times);
  lk_free(allocator, self->threads);
  *self = (lk_run_times){0};
}
