/* Runs a finished graph whatever is in it: stages with a graph executor each, and control flow.
 *
 * Threads: any number may call lk_flow_run at the same time. */
#pragma once

#include "executor_glue/run/executor.h"

typedef struct lk_flow lk_flow;

/* Creates what runs each stage. Borrows graph, context and executor, which must outlive it; the
 * graph is compacted. As lk_graph_executor_create, also for `options`. */
lk_status lk_flow_create(const lk_api *api, lk_context *context, lk_executor *executor,
                         lk_graph *graph, const lk_graph_executor_options *options,
                         lk_flow **out_flow, lk_error *error);
/* No run may be on. NULL is allowed. */
void lk_flow_destroy(lk_flow *flow);

/* As lk_graph_executor_run. A flow of several stages tells `place` after the last one. */
lk_status lk_flow_run(lk_flow *flow, const lk_graph_run *run, lk_error *error);

/* As of graph executors: the sums over all stages and bodies, but for the number of runs. */
void lk_flow_stats(lk_flow *flow, lk_session_stats *stats);
uint64_t lk_flow_builds(const lk_flow *flow);
/* `node`: one of the graph's. */
const char *lk_flow_implementation(const lk_flow *flow, size_t node);
lk_node_stats lk_flow_node_stats(const lk_flow *flow, size_t node);
lk_status lk_flow_visit_sizes(const lk_flow *flow, lk_size_fn visit, void *arg, uint64_t *out_lost,
                              lk_error *error);
