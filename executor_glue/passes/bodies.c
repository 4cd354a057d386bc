/* Bodies of nodes: they get the constants that they captured, and lose what they do not read. */
#include "executor_glue/passes/bodies.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"

/* `from` of the graph around as constant `to` of the body, or `*out_given` is false. What lies in
 * the mapped model stays there. The graph around frees other bytes when nobody uses them: they go
 * to the body if that is the last to read them, and are copied for others. */
static lk_status give_constant(lk_value *from, lk_graph *body, int32_t to, uint64_t *copies_left,
                               bool *out_given, lk_error *error) {
  int64_t bytes = 0;
  *out_given = true;
  if (from->constant_kind == LK_CONSTANT_MAPPED) {
    body->values[to].constant = from->constant;
    body->values[to].constant_kind = LK_CONSTANT_MAPPED;
    body->values[to].owner = from->owner;
    return LK_OK;
  }
  if (from->constant_kind == LK_CONSTANT_OWNED && from->n_uses == 1) {
    lk_value_set_constant(body, to, &from->constant.desc, from->constant.data);
    from->constant_kind = LK_CONSTANT_NONE;
    from->constant.data = NULL;
    return LK_OK;
  }
  LK_RETURN_NOT_OK(lk_tensor_size(&from->constant.desc, from->name, NULL, &bytes, error));
  *out_given = (uint64_t)bytes <= *copies_left;
  if (!*out_given) return LK_OK;
  *copies_left -= (uint64_t)bytes;
  return lk_value_copy_constant(body, to, &from->constant, error);
}

/* One body, whose captured values begin at input `*inout_at` of the node. */
static lk_status narrow(lk_graph *graph, int32_t index, lk_body *body, uint32_t *inout_at,
                        uint64_t *copies_left, uint64_t *out_changes, lk_error *error) {
  lk_graph *inner = body->graph;
  const size_t own = inner->n_inputs - body->n_captured;
  size_t kept = own;
  for (size_t i = own; i < inner->n_inputs; i++) {
    lk_node *node = &graph->nodes[index];
    const int32_t from = node->inputs[*inout_at], to = inner->inputs[i];
    const bool is_read = inner->values[to].n_uses > 0;
    bool is_given = false;
    if (is_read && lk_value_is_constant(graph, from)) {
      LK_RETURN_NOT_OK(
          give_constant(&graph->values[from], inner, to, copies_left, &is_given, error));
    }
    if (is_read && !is_given) {
      inner->inputs[kept++] = to;
      ++*inout_at;
      continue;
    }
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

lk_status lk_bodies_narrow(lk_graph *graph, int32_t index, uint64_t *copies_left,
                           uint64_t *out_changes, lk_error *error) {
  lk_node *node = &graph->nodes[index];
  uint32_t at = node->n_inputs - lk_node_captured(node);
  for (uint32_t i = 0; i < node->n_bodies; i++) {
    LK_RETURN_NOT_OK(narrow(graph, index, &node->bodies[i], &at, copies_left, out_changes, error));
  }
  return LK_OK;
}
