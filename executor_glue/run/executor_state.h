/* What a graph executor is: executor.c makes it and answers questions, executor_run.c runs it. */
#pragma once

#include <stdatomic.h>

#include "executor_glue/run/frame_pool.h"
#include "executor_glue/run/implementation_names.h"
#include "executor_glue/run/run_limit.h"

/* How a run plan is executed; one request can have a run plan of each. */
typedef enum lk_execution_mode {
  LK_MODE_SEQUENTIAL = 0, /* steps in order, on the context's threads where that helps */
  LK_MODE_ONE_THREAD = 1, /* steps in order, on the thread that runs */
  LK_MODE_PARALLEL = 2,   /* steps in parallel, each on one thread; or, where that is not faster,
                             as SEQUENTIAL */
  LK_MODE_COUNT = 3
} lk_execution_mode;

struct lk_graph_executor {
  const lk_allocator *allocator;
  lk_program *program; /* like the other pointers, NULL until it is made */
  lk_frame_pool *pool;
  lk_run_limit limit;
  bool run_plans;
  int32_t threads;                /* the context's */
  uint32_t workers;               /* 1: steps run in their order */
  lk_key *run_key[LK_MODE_COUNT]; /* what the keys of its run plans have in common */
  atomic_bool was_parallel; /* the last PARALLEL run plan had a schedule: probably the next, too */
  atomic_uint_least64_t runs, hits, builds, parallel_runs;
  lk_implementation_names *implementations;
};
