/* Runs the steps of a run plan, with what the run has borrowed: in their order, or in
 * parallel as its schedule allows. */
#pragma once

#include "base/stop.h"
#include "executor_glue/run/frame_pool.h"
#include "executor_glue/run/run_times.h"

typedef struct lk_execution {
  const lk_run_plan *plan;
  const lk_lease *lease;
  const lk_tensor *inputs; /* [n graph inputs] */
  void *const *outputs;  /* [n graph outputs]: where each is written; NULL: not wanted, or empty */
  lk_stop *stop;         /* ends the run between two steps, or within one */
  uint32_t workers;      /* threads that a plan with a schedule runs on; at most the plan's */
  uint32_t step_threads; /* that a step may use */
  lk_run_times *times;   /* NULL, or with room for the plan: steps are timed */
} lk_execution;

/* Fills the outputs. LK_CANCELLED, LK_DEADLINE, or what a step says, with the node's name. When
 * several steps failed in parallel, the first in the graph's order is told. */
lk_status lk_execute(const lk_execution *run, lk_error *error);
