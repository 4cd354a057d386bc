/* What a graph executor is: executor.c makes it and answers questions, executor_run.c runs it. */
#pragma once

#include <stdatomic.h>

#include "executor_glue/run/frame_pool.h"
#include "executor_glue/run/implementation_names.h"
#include "executor_glue/run/run_limit.h"

struct lk_graph_executor {
  const lk_allocator *allocator;
  lk_program *program; /* like the other pointers, NULL until it is made */
  lk_frame_pool *pool;
  lk_run_limit limit;
  bool run_plans;
  int32_t threads;  /* the context's */
  uint32_t workers; /* 1: steps run in their order */
  lk_key *run_key;  /* what the keys of its run plans have in common */
  atomic_uint_least64_t runs, hits, builds, parallel_runs;
  lk_implementation_names *implementations;
};
