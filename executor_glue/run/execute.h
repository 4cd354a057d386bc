/* Runs the steps of a run plan, in a lease: in their order, or at once as its schedule allows. */
#ifndef LK_RUN_EXECUTE_H
#define LK_RUN_EXECUTE_H

#include "base/team/wait_limit.h"
#include "executor_glue/run/frame_pool.h"

typedef struct lk_run_execution {
  const lk_run_plan *plan;
  const lk_run_lease *lease;
  const lk_tensor *inputs; /* [n graph inputs] */
  void *const *outputs; /* [n graph outputs]: where each is written; NULL: not wanted, or empty */
  const lk_wait_limit *limit; /* its flags end the run between two steps; its deadline does not */
  uint32_t workers;           /* threads that a plan with a schedule runs on; at most the plan's */
} lk_run_execution;

/* Fills the outputs. LK_CANCELLED, or what a step says: with the node's name; of several steps that
 * failed at once, the first of the graph's. */
lk_status lk_run_execute(const lk_run_execution *run, lk_error *error);

#endif
