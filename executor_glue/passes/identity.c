/* Removes nodes that only copy, as their operators say: Identity, Dropout when nothing is dropped,
 * Cast to the type that the input has, Sum of one input. */
#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/rewrite.h"

/* Output 0 is an input, and the others are not wanted. */
static bool only_copies(const lk_graph *graph, const lk_symbolic_shapes *shapes,
                        const lk_node *node) {
  return lk_node_is_plain(node) && node->n_inputs > 0 && node->inputs[0] != LK_NO_VALUE &&
         !lk_node_is_used(graph, node, 1) &&
         lk_symbolic_copy_of(shapes, node->outputs[0]) == node->inputs[0];
}

static int32_t find(int32_t *replacement, int32_t value) {
  while (replacement[value] != value) {
    replacement[value] = replacement[replacement[value]];
    value = replacement[value];
  }
  return value;
}

/* Decides what stands for the node's output, or refuses. A graph output keeps its name: then the
 * producer of the input writes the output directly, where the input is nothing public itself. */
static bool replace_output(lk_graph *graph, int32_t *replacement, int32_t node_number) {
  const lk_node *node = &graph->nodes[node_number];
  const int32_t output = node->outputs[0], input = find(replacement, node->inputs[0]);
  if (!graph->values[output].is_output) {
    replacement[output] = input;
    return true;
  }
  const lk_value *from = &graph->values[input];
  if (from->producer == LK_NO_NODE || from->is_output) return false;
  const int32_t producer = from->producer;
  const lk_node *maker = &graph->nodes[producer];
  for (uint32_t i = 0; i < maker->n_outputs; i++) {
    if (maker->outputs[i] == input) lk_node_set_output(graph, producer, i, output);
  }
  replacement[input] = output;
  return true;
}

lk_status lk_pass_identity(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                           lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = graph->allocator;
  int32_t *replacement = lk_calloc(allocator, graph->n_values, sizeof *replacement);
  bool *removed = lk_calloc(allocator, graph->n_nodes, sizeof *removed);
  if (replacement == NULL || removed == NULL) {
    LK_TRY(lk_fail_memory(error, "replacements", graph->n_values * sizeof *replacement));
  }
  for (size_t i = 0; i < graph->n_values; i++) replacement[i] = (int32_t)i;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    LK_TRY(lk_step(error));
    removed[n] = only_copies(graph, env->shapes, &graph->nodes[n]) &&
                 replace_output(graph, replacement, (int32_t)n);
  }
  for (size_t i = 0; i < graph->n_values; i++) replacement[i] = find(replacement, (int32_t)i);
  /* First the new uses, then the old ones away: a constant in between must not be freed. */
  lk_graph_replace_values(graph, replacement);
  for (size_t n = 0; n < graph->n_nodes; n++) {
    LK_TRY(lk_step(error));
    if (!removed[n]) continue;
    lk_graph_remove_node(graph, (int32_t)n);
    ++*out_changes;
  }
cleanup:
  lk_free(allocator, replacement);
  lk_free(allocator, removed);
  return status;
}
