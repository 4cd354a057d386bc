/* Everything that changes while a run plan runs, but the arena: one run at a time has it. */
#pragma once

#include "executor_glue/run/ready_queue.h"
#include "executor_glue/run/run_plan.h"
#include "executor_glue/run/size_log.h"

enum { LK_RUNS_TOGETHER = 64 };

typedef struct lk_execution_frame {
  struct lk_execution_frame *next;
  lk_frame *frame; /* the steps' plans as they run; their scratch memory is in the arena */
  size_t bytes; /* behind `pointers`, kept for the next run plan: new sizes allocate nothing here */
  /* Of the run plan that the frame is attached to. */
  void **pointers;             /* [n_operands]; the memory of the next two, too */
  uintptr_t *buffers;          /* addresses, by lk_buffer_index */
  uint32_t *slots;             /* [n_steps]: of `frame` */
  lk_ready_queue *ready_queue; /* NULL: the plan has no schedule */
  lk_size_record *size;        /* of that run plan; NULL: it has none */
  uint32_t runs;               /* that are not counted in it yet */
} lk_execution_frame;

/* Of no run plan. */
lk_status lk_execution_frame_create(const lk_program *program, lk_execution_frame **out_frame,
                                    lk_error *error);
/* NULL is allowed. */
void lk_execution_frame_destroy(const lk_program *program, lk_execution_frame *frame);

/* Makes a frame of no run plan one of `plan`. After a failure it is good for destroying only. */
lk_status lk_execution_frame_attach(lk_execution_frame *frame, const lk_run_plan *plan,
                                    lk_error *error);
/* Makes it one of no run plan. */
void lk_execution_frame_detach(const lk_program *program, lk_execution_frame *frame);

/* Hands over the runs to the record of their size. By who has the frame. */
void lk_execution_frame_count_runs(lk_execution_frame *frame);
/* The same, and it has no such record from now on. While the frame has one, so must its run plan's
 * entry, which keeps the record. */
void lk_execution_frame_leave_size(lk_execution_frame *frame);
/* Counts a run. What one thread after the other writes to is handed over now and then only. */
static inline void lk_execution_frame_add_run(lk_execution_frame *frame) {
  if (++frame->runs == LK_RUNS_TOGETHER) lk_execution_frame_count_runs(frame);
}
