/* Attributes that operators do not have, before a pass takes the node for another one. */
#include "executor_glue/passes/attributes.h"

#include "base/alloc.h"
#include "base/attrs.h"
#include "base/status.h"
#include "executor_glue/graph/own_ops.h"
#include "executor_glue/graph/step.h"

/* Backwards: a node comes behind those that make its inputs. */
static void find_needed(const lk_graph *graph, bool *values, bool *nodes) {
  for (size_t i = 0; i < graph->n_outputs; i++) values[graph->outputs[i]] = true;
  for (size_t n = graph->n_nodes; n-- > 0;) {
    const lk_node *node = &graph->nodes[n];
    for (uint32_t i = 0; !node->dead && i < node->n_outputs; i++) {
      if (node->outputs[i] != LK_NO_VALUE && values[node->outputs[i]]) nodes[n] = true;
    }
    for (uint32_t i = 0; nodes[n] && i < node->n_inputs; i++) {
      if (node->inputs[i] != LK_NO_VALUE) values[node->inputs[i]] = true;
    }
  }
}

static lk_status check_body(const lk_op_row *row, const lk_node *node, uint32_t index,
                            lk_error *error) {
  const lk_attr given = {node->bodies[index].name, LK_ATTR_GRAPH, 1, NULL};
  return lk_op_attr_check(row, node->opset, &given, error);
}

/* Tells each, and keeps the others: what asks about the node later does not see them. Bodies of
 * operators that have none are told later. */
static lk_status drop_refused(const lk_told_attributes *told, const lk_graph *graph,
                              const lk_op_row *row, bool has_bodies, lk_node *node,
                              lk_error *error) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    lk_error why = {LK_OK, ""};
    if (lk_op_attr_check(row, node->opset, &node->attrs[i], &why) == LK_OK) {
      node->attrs[kept++] = node->attrs[i];
    } else {
      LK_RETURN_NOT_OK(told->tell(told->arg, graph, node, why.message, error));
    }
  }
  node->n_attrs = kept;
  for (uint32_t i = 0; has_bodies && i < node->n_bodies; i++) {
    lk_error why = {LK_OK, ""};
    if (check_body(row, node, i, &why) == LK_OK) continue;
    LK_RETURN_NOT_OK(told->tell(told->arg, graph, node, why.message, error));
  }
  return LK_OK;
}

static lk_status check_node(const lk_api *api, const lk_told_attributes *told,
                            const lk_graph *graph, lk_node *node, lk_error *error) {
  /* It has its own sentence, told where it is read. */
  if (lk_node_is(node, LK_GRAPH_UNREAD)) return LK_OK;
  const lk_op_row *own = lk_own_op_find(node);
  const lk_op_row *row = own != NULL ? own : lk_graph_find_row(api, graph, node);
  if (row == NULL) return LK_OK;
  if (told != NULL) return drop_refused(told, graph, row, own != NULL, node, error);
  lk_status status = lk_op_attrs_check(row, node->opset, node->attrs, node->n_attrs, error);
  for (uint32_t i = 0; status == LK_OK && i < node->n_bodies; i++) {
    status = check_body(row, node, i, error);
  }
  if (status == LK_OK) return LK_OK;
  return lk_error_prefix(error, status, "node '%s' (%s): failed to read its attributes",
                         lk_node_label(graph, node), node->op_type);
}

lk_status lk_attributes_check(const lk_api *api, const lk_told_attributes *told, lk_graph *graph,
                              lk_error *error) {
  lk_status status = LK_OK;
  bool *needed = lk_calloc(graph->allocator, graph->n_values + graph->n_nodes, sizeof *needed);
  if (needed == NULL) return lk_fail_memory(error, "what is needed", graph->n_values);
  find_needed(graph, needed, needed + graph->n_values);
  for (size_t n = 0; n < graph->n_nodes; n++) {
    LK_TRY(lk_step(error));
    if (!needed[graph->n_values + n]) continue;
    LK_TRY(check_node(api, told, graph, &graph->nodes[n], error));
  }
cleanup:
  lk_free(graph->allocator, needed);
  return status;
}
