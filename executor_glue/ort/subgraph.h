/* A fused node: what was claimed together, and the executor that runs it. */
#pragma once

#include <stdatomic.h>

#include "executor_glue/ort/contexts.h"
#include "executor_glue/ort/options.h"
#include "executor_glue/passes/refusals.h"
#include "executor_glue/run/executor.h"
#include "executor_glue/run/trace.h"

typedef struct lk_ort_subgraph {
  OrtNodeComputeInfo
      abi; /* first: ONNX Runtime's pointer is ours; zeroed, for the provider to fill */
  struct lk_ort_subgraph *next; /* the provider's, too */
  const lk_ort_context *context;
  lk_executor *executor;
  lk_graph *graph;
  lk_refusals refusals; /* what the passes have left of the graph */
  lk_graph_executor *graph_executor;
  char *name;
  size_t n_nodes;                 /* as claimed; graph->n_nodes are left after the passes */
  int threads;                    /* of an operator that is split */
  atomic_bool wants_threads;      /* a run has had operators of several threads */
  _Atomic uint64_t n_lent_shares; /* of such operators, that the session's threads have done */
  lk_trace *trace;                /* the provider's: where runs note what they do; NULL: nowhere */
  lk_labels_place labels;         /* its name in the trace */
  /* What the last run has left for the next one, which then looks nothing up: most runs have the
   * shapes of the one before. A run uses it that finds it free; others at that time do without. */
  lk_kept_run *kept;
  atomic_bool is_kept_taken; /* for good, where runs would keep memory that others want */
} lk_ort_subgraph;

/* Makes an executor of the nodes of `graph`, for which `fused` stands. It borrows the context. */
lk_status lk_ort_subgraph_create(const lk_ort_context *context, const lk_ort_options *options,
                                 const OrtGraph *graph, const OrtNode *fused, lk_ort_subgraph **out,
                                 lk_error *error);
void lk_ort_subgraph_destroy(lk_ort_subgraph *subgraph); /* NULL is allowed */

/* Any number of threads may call it at once. `stop`: see lk_ort_run_terminate. */
lk_status lk_ort_compute(lk_ort_subgraph *subgraph, OrtKernelContext *context,
                         const volatile uint8_t *stop, lk_error *error);
/* Lets the sizes know of the runs that the kept one has had, unless a run is on. */
void lk_ort_subgraph_count_runs(lk_ort_subgraph *subgraph);
