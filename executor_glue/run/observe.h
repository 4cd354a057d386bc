/* Who watches a run: the profile and the trace of its options. A run that nobody watches calls none
 * of these. */
#pragma once

#include "executor_glue/run/invocation.h"

static inline bool lk_is_observed(const lk_graph_run *run) {
  return run->options != NULL && (run->options->profile != NULL || run->options->trace != NULL);
}

/* In this order: */

/* Before the run waits for anything. */
lk_status lk_observe_begin(lk_invocation *invocation, const lk_run_options *options,
                           lk_error *error);
/* It has waited for a place, or for processors (kind), since `begin_ns`. */
void lk_observe_wait(lk_invocation *invocation, lk_trace_kind kind, uint64_t begin_ns);
/* It begins to look for its run plan. LK_BUSY: another run has the profile. */
lk_status lk_observe_choose(lk_invocation *invocation, const lk_run_options *options,
                            lk_error *error);
/* For lk_run_plan_desc: a node was bound. `arg`: the invocation. */
void lk_observe_node(void *arg, size_t node, uint64_t begin_ns, uint64_t end_ns);
/* It has its run plan, or `status` says why not, since `begin_ns`. */
lk_status lk_observe_plan(lk_invocation *invocation, uint64_t begin_ns, lk_status status,
                          uint32_t step_threads, lk_error *error);
/* It has ended, however far it came. */
void lk_observe_end(lk_invocation *invocation, lk_status status);
