/* Runs a finished graph, with or without run plans. The naive executor runs its steps in order. The
 * parallel one runs steps in parallel that do not depend on each other.
 *
 * Threads: any number may call lk_graph_executor_run at the same time.
 */
#pragma once

#include <latchkey/session.h>

#include "base/wait_limit.h"
#include "executor_glue/graph/graph.h"

typedef struct lk_graph_executor lk_graph_executor;

typedef struct lk_graph_executor_options {
  bool run_plans;    /* keep what was bound for the next run with these shapes. False, or a context
                        whose cache is off: every run binds every node */
  uint32_t workers;  /* more than 1: the parallel executor, on so many threads */
  uint32_t max_runs; /* at the same time; 0: as many as threads that call */
  bool fail_busy;    /* one more run fails with LK_BUSY; false: it waits */
  const char *name;  /* of its run plans, where several graph executors share an lk_executor; NULL:
                        "run" */
} lk_graph_executor_options;

/* Creates an op for each node, and compacts the graph. Borrows graph, context and executor, which
 * must outlive it; only one graph executor at a time may use an lk_executor, because output names
 * tell its nodes apart. Constants that the graph owns are handed to the weights store and freed
 * here, except those that are outputs. */
lk_status lk_graph_executor_create(const lk_api *api, lk_context *context, lk_executor *executor,
                                   lk_graph *graph, const lk_graph_executor_options *options,
                                   lk_graph_executor **out_executor, lk_error *error);
/* No run may be on. Drops the cached entries of the lk_executor. NULL is allowed. */
void lk_graph_executor_destroy(lk_graph_executor *executor);

/* One run. */
typedef struct lk_graph_run {
  const lk_tensor
      *inputs;        /* [graph->n_inputs], in the order of the graph's inputs: plain; checked here
                              against declared types, ranks and fixed dimensions */
  lk_tensor *outputs; /* [graph->n_outputs]: as lk_named_tensor says; NULL with `place` */
  const bool *wanted; /* [n_outputs]: which are computed; NULL: all */
  /* NULL, or called once for each wanted output before the first operator, and tells where it is
   * written: tensor_bytes of `desc`, which is plain. `*out_data` may be NULL without elements. */
  lk_status (*place)(void *arg, uint32_t output, const lk_tensor_desc *desc, void **out_data,
                     lk_error *error);
  void *place_arg;
  const lk_run_options *options; /* NULL: none */
  const volatile uint8_t *stop;  /* NULL, or a second flag like options->cancel */
  int32_t threads; /* what the caller's own threads_enter granted; 0: the run asks itself */
} lk_graph_run;

/* Whether `auto` is to choose before the run. */
static inline bool lk_is_chosen(const lk_graph_run *run) {
  return run->options != NULL && run->options->recurs != 0;
}

/* What ends the run early, but for what its host is asked. */
static inline lk_wait_limit lk_graph_run_wait(const lk_graph_run *run) {
  const lk_run_options *options = run->options;
  return (lk_wait_limit){.cancel = options != NULL ? options->cancel : NULL,
                         .stop = run->stop,
                         .deadline_ns = options != NULL ? options->deadline_ns : 0};
}

/* An output that the library allocates comes from the context's allocator, 64-byte aligned, and is
 * the caller's. No output may overlap an input or another output. */
lk_status lk_graph_executor_run(lk_graph_executor *executor, const lk_graph_run *run,
                                lk_error *error);
/* What runs that follow each other keep between them: the run plan, and what it has borrowed. */
typedef struct lk_kept_run lk_kept_run;

/* As lk_graph_executor_run, for runs that follow each other, as those of a loop do. `*inout_kept`
 * is NULL before the first, and belongs to the caller. As long as types, shapes, the values that
 * shapes depend on and `wanted` are those of the run before, nothing is looked up or allocated.
 * Each run asks for processors, and leaves them. `place` is required. */
lk_status lk_graph_executor_run_kept(lk_graph_executor *executor, const lk_graph_run *run,
                                     lk_kept_run **inout_kept, lk_error *error);
/* Whether it keeps no memory that runs of others could borrow in between. */
bool lk_kept_run_is_light(const lk_kept_run *kept);
/* Hands over the runs that lk_graph_executor_visit_sizes cannot see otherwise. NULL is allowed. */
void lk_kept_run_count_runs(lk_kept_run *kept);
/* Gives back what is kept. NULL is allowed. */
void lk_kept_run_end(lk_kept_run *kept);

/* Builds the run plan of a graph whose inputs have fixed shapes, so that the first run finds it.
 * Does nothing where a run plan depends on what only a run knows. */
lk_status lk_graph_executor_prepare(lk_graph_executor *executor, lk_error *error);

/* Fills runs, parallel_runs, waits, run_plan_hits, run_plan_builds, frames, arena_bytes. Runs
 * without run plans count as runs only. */
void lk_graph_executor_stats(lk_graph_executor *executor, lk_session_stats *stats);
/* Run plans built so far: one atomic read. */
uint64_t lk_graph_executor_builds(const lk_graph_executor *executor);
/* The implementation that node `node` used in its newest bind; "" before; lives as long as the
 * executor. */
const char *lk_graph_executor_implementation(lk_graph_executor *executor, size_t node);
/* What `node` has cost so far; it must be one of the graph's. */
lk_node_stats lk_graph_executor_node_stats(const lk_graph_executor *executor, size_t node);
/* Shows the sizes that were seen, as lk_session_api has it. */
lk_status lk_graph_executor_visit_sizes(lk_graph_executor *executor, lk_size_fn visit, void *arg,
                                        uint64_t *out_lost, lk_error *error);
