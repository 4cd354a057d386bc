/* What the steps of one run took, for who watches the run. */
#pragma once

#include <latchkey/plan.h>

#include "executor_glue/run/labels.h"

/* Zeros before its first run. One run at a time has it. */
typedef struct lk_run_times {
  lk_labels *labels;   /* of the run plan; borrowed */
  lk_step_time *times; /* [labels->n_steps]; begin_ns 0: the step has not ended well */
  int32_t *threads;    /* [labels->n_steps]: the kernel's number of the thread; 0: the run's own */
  size_t capacity;
  uint64_t begin_ns, end_ns; /* of all steps, and of what follows until the outputs are written */
  uint32_t n_threads;        /* that the run had for them */
  uint32_t step_threads;     /* that each step had */
} lk_run_times;

/* Makes room for a run of the plan that has these labels; no step has run. */
lk_status lk_run_times_begin(lk_run_times *self, const lk_allocator *allocator, lk_labels *labels,
                             lk_error *error);
/* Where the times of step `step` of the run plan belong: of all steps of its plan. */
static inline lk_step_time *lk_run_times_of(const lk_run_times *self, uint32_t step) {
  return self->times + self->labels->first[step];
}
/* Notes that `step` of the run plan has run on this thread. Without it, the run's own has. */
void lk_run_times_note_thread(lk_run_times *self, uint32_t step);
/* Frees the room. */
void lk_run_times_end(lk_run_times *self, const lk_allocator *allocator);
