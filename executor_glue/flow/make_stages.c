/* Makes the stages of a flow, each with what runs it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/flow/builder.h"
#include "executor_glue/flow/lists.h"
#include "executor_glue/flow/scan.h"
#include "executor_glue/flow/stages.h"
#include "executor_glue/graph/step.h"

lk_status lk_flow_create_executor(const lk_flow_builder *b, lk_graph *graph, size_t stage,
                                  lk_graph_executor **out) {
  lk_flow *flow = b->flow;
  const size_t bytes = strlen(graph->scope) + 32;
  char *name = lk_alloc(flow->allocator, bytes);
  if (name == NULL) return lk_fail_memory(b->error, "the name of a stage", bytes);
  (void)snprintf(name, bytes, "run:%s:%zu", graph->scope, stage);
  lk_graph_executor_options options = *b->options;
  options.name = name;
  options.max_runs = 0; /* the flow's own matter */
  const lk_status status = lk_graph_executor_create(flow->api, flow->context, flow->executor, graph,
                                                    &options, out, b->error);
  lk_free(flow->allocator, name);
  return status;
}

/* Nodes of one number in `b->stages`, as a graph of their own. */
static lk_status make_part(const lk_flow_builder *b, lk_stage *stage, int32_t number) {
  lk_flow *flow = b->flow;
  LK_RETURN_NOT_OK(lk_flow_part_create(&b->parts, number, flow->node_index, b->inputs, b->outputs,
                                       &stage->graph, b->error));
  LK_RETURN_NOT_OK(lk_flow_set_slots(b, stage, b->inputs, stage->graph->n_inputs, b->outputs,
                                     stage->graph->n_outputs));
  if (stage->kind == LK_STAGE_PART) {
    return lk_flow_create_executor(b, stage->graph, (size_t)(stage - flow->stages),
                                   &stage->executor);
  }
  return lk_program_create(flow->api, flow->context, flow->executor, stage->graph, &stage->program,
                           b->error);
}

static lk_status make_control(const lk_flow_builder *b, lk_stage *stage) {
  lk_status status = LK_OK;
  const lk_node *node = stage->node;
  LK_TRY(lk_flow_set_slots(b, stage, node->inputs, node->n_inputs, node->outputs, node->n_outputs));
  if (stage->kind == LK_STAGE_SCAN) {
    LK_TRY(lk_flow_scan_read(b->flow->allocator, stage, b->error));
  }
  if (stage->kind == LK_STAGE_LIST) {
    LK_TRY(lk_flow_list_read(b->flow->graph, stage, b->error));
  }
  LK_TRY(lk_flow_make_bodies(b, stage));
cleanup:
  if (status == LK_OK) return LK_OK;
  return lk_program_name_node(b->flow->graph, node, status, b->error);
}

static lk_status kind_of(const lk_flow_builder *b, const lk_node *node, lk_stage_kind *out) {
  static const struct {
    const char *op_type;
    lk_stage_kind kind;
  } kinds[] = {{"If", LK_STAGE_IF}, {"Loop", LK_STAGE_LOOP}, {"Scan", LK_STAGE_SCAN}};
  *out = lk_flow_list_find(b->flow->graph, node) != NULL ? LK_STAGE_LIST : LK_STAGE_OP;
  if (*out == LK_STAGE_LIST || node->n_bodies == 0) return LK_OK;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (!lk_node_is(node, kinds[i].op_type)) continue;
    *out = kinds[i].kind;
    return LK_OK;
  }
  const lk_status status = lk_fail(
      b->error, LK_UNSUPPORTED,
      "failed to read it: %s has a body, bodies are supported for If, Loop, Scan and SequenceMap",
      node->op_type);
  return lk_program_name_node(b->flow->graph, node, status, b->error);
}

/* Whose nodes lk_flow_stages has put into such a stage. */
static bool runs_alone(int32_t stage) {
  return stage % 2 != 0;
}

lk_status lk_flow_number_stages(const lk_flow_builder *b, int32_t count) {
  lk_flow *flow = b->flow;
  const size_t n_nodes = flow->graph->n_nodes;
  int32_t *next = lk_calloc(flow->allocator, (size_t)count, sizeof *next);
  if (next == NULL) return lk_fail_memory(b->error, "stages", (size_t)count * sizeof *next);
  for (size_t n = 0; n < n_nodes; n++) {
    const int32_t stage = b->stages[n];
    next[stage] = runs_alone(stage) ? next[stage] + 1 : 1;
  }
  for (int32_t stage = 0, sum = 0; stage < count; stage++) {
    const int32_t n_numbers = next[stage];
    next[stage] = sum;
    sum += n_numbers;
    flow->n_stages = (size_t)sum;
  }
  for (size_t n = 0; n < n_nodes; n++) {
    const int32_t stage = b->stages[n];
    b->stages[n] = runs_alone(stage) ? next[stage]++ : next[stage];
  }
  lk_free(flow->allocator, next);
  return LK_OK;
}

/* What a stage takes with all that it has, but for what the graphs say: about, and not less. */
static size_t bytes_of(lk_stage_kind kind) {
  switch (kind) {
  case LK_STAGE_PART:
    return 8 << 10;
  case LK_STAGE_OP:
    return 5 << 10;
  default:
    return 1 << 10;
  }
}

lk_status lk_flow_charge(const lk_flow_builder *b, lk_stage_kind kind) {
  const size_t bytes = bytes_of(kind);
  if (bytes > *b->left) {
    return lk_fail(b->error, LK_OUT_OF_RANGE,
                   "failed to plan the graph: control flow, sequences and operators whose shapes "
                   "follow from data cut it into so many parts that they take more than the %zu MB "
                   "allowed",
                   LK_FLOW_MOST_BYTES >> 20);
  }
  *b->left -= bytes;
  return LK_OK;
}

lk_status lk_flow_make_stages(const lk_flow_builder *b) {
  lk_flow *flow = b->flow;
  const lk_graph *graph = flow->graph;
  flow->stages = lk_calloc(flow->allocator, flow->n_stages, sizeof *flow->stages);
  if (flow->stages == NULL) {
    return lk_fail_memory(b->error, "stages", flow->n_stages * sizeof *flow->stages);
  }
  for (size_t n = 0; n < graph->n_nodes; n++) {
    lk_stage *stage = &flow->stages[b->stages[n]];
    LK_RETURN_NOT_OK(lk_step(b->error));
    flow->node_stage[n] = b->stages[n];
    if (lk_flow_runs_alone(flow->api, graph, &graph->nodes[n])) {
      stage->node = &graph->nodes[n];
      LK_RETURN_NOT_OK(kind_of(b, stage->node, &stage->kind));
    }
  }
  for (size_t s = 0; s < flow->n_stages; s++) {
    lk_stage *stage = &flow->stages[s];
    LK_RETURN_NOT_OK(flow->api->thread_look(b->error));
    LK_RETURN_NOT_OK(lk_flow_charge(b, stage->kind));
    const bool is_graph = stage->kind == LK_STAGE_PART || stage->kind == LK_STAGE_OP;
    LK_RETURN_NOT_OK(is_graph ? make_part(b, stage, (int32_t)s) : make_control(b, stage));
  }
  return LK_OK;
}
