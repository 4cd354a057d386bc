/* Measures what the nodes of a run take by native and by the engine that `auto` asks. */
#pragma once

#include "executor_glue/run/executor.h"

static inline bool lk_is_tuned(const lk_graph_run *run) {
  return run->options != NULL && run->options->tune_ns != 0;
}

/* Runs the steps by native and by the engine in turn, three times each at least and until
 * options->tune_ns, which is a time of CLOCK_MONOTONIC here. It writes into memory of its own, so
 * the caller's outputs stay as they are. Notes what it has measured, and builds the run plan anew,
 * so that the next run of the sizes gets what takes less time. After options->tune_ns it does
 * nothing where this run has measured the executor once, as one that is a loop's body. */
lk_status lk_tune(lk_graph_executor *executor, const lk_graph_run *run, lk_error *error);
