/* Bodies of nodes: they get the constants that they captured, and lose what they do not read. */
#include "executor_glue/passes/bodies.h"

#include <string.h>

#include "base/status.h"

/* `from` of the graph around as constant `to` of the body. What lies in the mapped model stays
 * there; other bytes are copied, because the graph around frees them when nobody uses them. */
static lk_status give_constant(const lk_value *from, lk_graph *body, int32_t to, lk_error *error) {
  if (from->constant_kind == LK_CONSTANT_MAPPED) {
    body->values[to].constant = from->constant;
    body->values[to].constant_kind = LK_CONSTANT_MAPPED;
    body->values[to].owner = from->owner;
    return LK_OK;
  }
  return lk_value_copy_constant(body, to, &from->constant, error);
}

/* One body, whose captured values begin at input `*inout_at` of the node. */
static lk_status narrow(lk_graph *graph, int32_t index, lk_body *body, uint32_t *inout_at,
                        uint64_t *out_changes, lk_error *error) {
  lk_graph *inner = body->graph;
  const size_t own = inner->n_inputs - body->n_captured;
  size_t kept = own;
  for (size_t i = own; i < inner->n_inputs; i++) {
    lk_node *node = &graph->nodes[index];
    const int32_t from = node->inputs[*inout_at], to = inner->inputs[i];
    const bool is_constant = lk_value_is_constant(graph, from);
    const bool is_read = inner->values[to].n_uses > 0;
    if (is_read && !is_constant) {
      inner->inputs[kept++] = to;
      ++*inout_at;
      continue;
    }
    if (is_read) LK_RETURN_NOT_OK(give_constant(&graph->values[from], inner, to, error));
    inner->values[to].is_input = false;
    lk_node_set_input(graph, index, *inout_at, LK_NO_VALUE);
    node->n_inputs--;
    memmove(node->inputs + *inout_at, node->inputs + *inout_at + 1,
            (node->n_inputs - *inout_at) * sizeof *node->inputs);
    ++*out_changes;
  }
  inner->n_inputs = kept;
  body->n_captured = (uint32_t)(kept - own);
  return LK_OK;
}

lk_status lk_bodies_narrow(lk_graph *graph, int32_t index, uint64_t *out_changes, lk_error *error) {
  lk_node *node = &graph->nodes[index];
  uint32_t at = node->n_inputs - lk_node_captured(node);
  for (uint32_t i = 0; i < node->n_bodies; i++) {
    LK_RETURN_NOT_OK(narrow(graph, index, &node->bodies[i], &at, out_changes, error));
  }
  return LK_OK;
}
