/* What a graph executor is: executor.c makes it and answers questions, executor_run.c runs it. */
#pragma once

#include <stdatomic.h>

#include "base/tally.h"
#include "executor_glue/run/frame_pool.h"
#include "executor_glue/run/implementation_names.h"
#include "executor_glue/run/node_counts.h"
#include "executor_glue/run/node_keys.h"
#include "executor_glue/run/run_limit.h"
#include "executor_glue/run/size_log.h"

/* What a graph executor counts in each run. */
enum {
  LK_COUNT_RUNS,    /* that came to their end */
  LK_COUNT_HITS,    /* that found their run plan */
  LK_COUNT_PARALLEL /* whose steps ran on several threads */
};

struct lk_graph_executor {
  const lk_allocator *allocator;
  lk_program *program; /* like the other pointers, NULL until it is made */
  lk_frame_pool *pool;
  lk_run_limit limit;
  bool run_plans;
  int32_t threads;  /* the context's */
  uint32_t workers; /* 1: steps run in their order */
  char *name;       /* of its run plans */
  lk_key *run_key;  /* what the keys of its run plans have in common */
  bool is_auto;     /* a run plan for sizes that recur differs from the first one */
  bool is_static;   /* there is one size */
  /* options->tune_ns of the newest run that has measured it; 0: none has */
  atomic_uint_least64_t tuned_until;
  atomic_uint_least64_t builds;
  lk_implementation_names *implementations;
  lk_node_counts *node_counts;
  lk_node_keys *node_keys;
  lk_size_log *sizes;
  lk_labels_place labels; /* of the program */
  lk_tally counts;        /* apart from what is above, which most runs only read */
};
