/* Which stage each node of a graph is in. */
#include "executor_glue/flow/stages.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/flow/lists.h"
#include "executor_glue/graph/own_ops.h"

/* What is known of a value before the first run. */
typedef struct made {
  int32_t stage; /* that makes it; graph inputs and constants: 0 */
  bool is_data;  /* its elements are not known when its stage is bound */
} made;

bool lk_flow_runs_alone(const lk_api *api, const lk_graph *graph, const lk_node *node) {
  if (node->n_bodies > 0 || lk_flow_list_find(graph, node) != NULL) return true;
  const lk_op_row *row = lk_graph_find_row(api, graph, node);
  return row != NULL && (row->flags & LK_OP_DATA_DEPENDENT) != 0;
}

/* Shapes may depend on the elements of lists and scalars that a host gives: they become part of the
 * key of a run plan. What is larger holds data. */
static bool is_data(const lk_value *input) {
  return input->declared != NULL && input->declared->rank > 1;
}

static bool reads_value(const lk_op_row *row, uint32_t input) {
  return row != NULL && input < 64 && (row->shape_inputs >> input & 1) != 0;
}

static bool reads_elements(const lk_op_row *row) {
  return row == NULL || (row->flags & LK_OP_SHAPE_ONLY) == 0;
}

/* The stage of a node, from what its inputs are; `*out_is_data` of its outputs. */
static int32_t stage_of(const lk_api *api, const lk_graph *graph, const lk_node *node,
                        const made *values, bool *out_is_data) {
  const lk_op_row *row = lk_graph_find_row(api, graph, node);
  const bool alone = lk_flow_runs_alone(api, graph, node);
  int32_t stage = 0;
  *out_is_data = alone;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const int32_t input = node->inputs[i];
    if (input == LK_NO_VALUE || lk_value_is_constant(graph, input)) continue;
    const made *from = &values[input];
    int32_t least = from->stage;
    if (alone) {
      least += least % 2 == 0; /* those that run alone may be in one stage, in their order */
      if (graph->values[input].producer == LK_NO_NODE) least = 1;
    } else {
      least += least % 2;
      /* a shape cannot wait for elements of the part that it is in */
      const bool is_made = graph->values[input].producer != LK_NO_NODE;
      if (reads_value(row, i) && from->is_data && is_made && least == from->stage) least += 2;
    }
    if (least > stage) stage = least;
    if (from->is_data && reads_elements(row)) *out_is_data = true;
  }
  return alone && stage == 0 ? 1 : stage;
}

lk_status lk_flow_stages(const lk_api *api, const lk_graph *graph, int32_t *stages,
                         int32_t *out_count, lk_error *error) {
  *out_count = 1;
  made *values = lk_calloc(graph->allocator, graph->n_values, sizeof *values);
  if (values == NULL) return lk_fail_memory(error, "stages", graph->n_values * sizeof *values);
  for (size_t i = 0; i < graph->n_inputs; i++) {
    values[graph->inputs[i]].is_data = is_data(&graph->values[graph->inputs[i]]);
  }
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    made result = {0};
    result.stage = stage_of(api, graph, node, values, &result.is_data);
    stages[n] = result.stage;
    if (result.stage >= *out_count) *out_count = result.stage + 1;
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      if (node->outputs[i] != LK_NO_VALUE) values[node->outputs[i]] = result;
    }
  }
  lk_free(graph->allocator, values);
  return LK_OK;
}
