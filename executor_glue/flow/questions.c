/* Answers questions about a flow: the sums over its stages and bodies. */
#include "base/status.h"
#include "executor_glue/flow/flow.h"
#include "executor_glue/flow/state.h"

/* Calls `fn` for each graph executor, also in bodies. */
typedef void each_fn(lk_graph_executor *executor, void *arg);
static void for_each(const lk_flow *flow, each_fn *fn, void *arg) {
  if (flow->single != NULL) fn(flow->single, arg);
  for (size_t s = 0; s < flow->n_stages; s++) {
    const lk_stage *stage = &flow->stages[s];
    if (stage->executor != NULL) fn(stage->executor, arg);
    for (int i = 0; i < 2; i++) {
      if (stage->bodies[i] != NULL) for_each(stage->bodies[i], fn, arg);
    }
  }
}

static void add_stats(lk_graph_executor *executor, void *arg) {
  lk_session_stats *sum = arg, one = {0};
  lk_graph_executor_stats(executor, &one);
  sum->runs += one.runs;
  sum->run_plan_hits += one.run_plan_hits;
  sum->run_plan_builds += one.run_plan_builds;
  sum->parallel_runs += one.parallel_runs;
  sum->waits += one.waits;
  sum->frames += one.frames;
  sum->arena_bytes += one.arena_bytes;
}

void lk_flow_stats(lk_flow *flow, lk_session_stats *stats) {
  for_each(flow, add_stats, stats);
  if (flow->single != NULL) return;
  stats->runs = atomic_load(&flow->runs);
  stats->waits += lk_run_limit_waits(&flow->limit);
}

static void add_builds(lk_graph_executor *executor, void *arg) {
  *(uint64_t *)arg += lk_graph_executor_builds(executor);
}

uint64_t lk_flow_builds(const lk_flow *flow) {
  if (flow->single != NULL) return lk_graph_executor_builds(flow->single);
  uint64_t sum = 0;
  for_each(flow, add_builds, &sum);
  return sum;
}

/* The graph executor that binds a node, and the node's number in its graph; NULL: the node runs
 * alone. */
static lk_graph_executor *executor_of(const lk_flow *flow, size_t *inout_node) {
  if (flow->single != NULL) return flow->single;
  const size_t node = *inout_node;
  *inout_node = (size_t)flow->node_index[node];
  return flow->stages[flow->node_stage[node]].executor;
}

const char *lk_flow_implementation(const lk_flow *flow, size_t node) {
  lk_graph_executor *executor = executor_of(flow, &node);
  return executor != NULL ? lk_graph_executor_implementation(executor, node) : "";
}

lk_node_stats lk_flow_node_stats(const lk_flow *flow, size_t node) {
  const lk_graph_executor *executor = executor_of(flow, &node);
  if (executor == NULL) return (lk_node_stats){.struct_size = sizeof(lk_node_stats)};
  return lk_graph_executor_node_stats(executor, node);
}

/* lk_flow_visit_sizes, for one executor after the other. */
typedef struct size_visit {
  lk_size_fn visit;
  void *arg;
  uint64_t lost;
  lk_status status;
  lk_error *error;
} size_visit;

static void visit_sizes(lk_graph_executor *executor, void *arg) {
  size_visit *self = arg;
  uint64_t lost = 0;
  if (self->status != LK_OK) return;
  self->status =
      lk_graph_executor_visit_sizes(executor, self->visit, self->arg, &lost, self->error);
  self->lost += lost;
}

lk_status lk_flow_visit_sizes(const lk_flow *flow, lk_size_fn visit, void *arg, uint64_t *out_lost,
                              lk_error *error) {
  size_visit self = {visit, arg, 0, LK_OK, error};
  for_each(flow, visit_sizes, &self);
  *out_lost = self.lost;
  return self.status;
}
