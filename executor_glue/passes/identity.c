/* Removes nodes that only copy: Identity, Dropout when nothing is dropped, Cast to the type that
 * the input has, Sum of one input. */
#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/passes/rewrite.h"

lk_status lk_pass_identity(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                           lk_error *error);

static bool is_idle_dropout(const lk_graph *graph, const lk_node *node) {
  if (node->n_outputs > 1 && node->outputs[1] != LK_NO_VALUE &&
      graph->values[node->outputs[1]].n_uses > 0) {
    return false; /* the mask is wanted */
  }
  if (node->opset < 12 || node->n_inputs < 3 || node->inputs[2] == LK_NO_VALUE) return true;
  /* training_mode: must be known to be false */
  if (!lk_value_is_constant(graph, node->inputs[2])) return false;
  const lk_value *mode = &graph->values[node->inputs[2]];
  return mode->constant.desc.dtype == LK_BOOL && mode->constant.data != NULL &&
         lk_constant_number(mode, 0) == 0.0;
}

static bool is_plain(const lk_node *node, const char *op_type) {
  return lk_node_is(node, op_type) && lk_node_is_plain(node);
}

static bool only_copies(const lk_graph *graph, const lk_symbolic_shapes *classes,
                        const lk_node *node) {
  if (node->n_inputs == 0 || node->inputs[0] == LK_NO_VALUE) return false;
  if (is_plain(node, "Identity")) return true;
  if (is_plain(node, "Sum")) return node->n_inputs == 1;
  if (is_plain(node, "Dropout")) return is_idle_dropout(graph, node);
  if (!is_plain(node, "Cast")) return false;
  const uint32_t dtype = lk_symbolic_shape_dtype(classes, node->inputs[0]);
  return dtype != LK_DTYPE_NONE && lk_node_attr_int(node, "to", 0) == (int64_t)dtype;
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
  (void)env;
  lk_status status = LK_OK;
  lk_symbolic_shapes *classes = NULL;
  const lk_allocator *allocator = graph->allocator;
  int32_t *replacement = lk_calloc(allocator, graph->n_values, sizeof *replacement);
  bool *removed = lk_calloc(allocator, graph->n_nodes, sizeof *removed);
  if (replacement == NULL || removed == NULL) {
    status = lk_fail_memory(error, "replacements", graph->n_values * sizeof *replacement);
    goto cleanup;
  }
  LK_TRY(lk_symbolic_shapes_create(graph, &classes, error));
  for (size_t i = 0; i < graph->n_values; i++) replacement[i] = (int32_t)i;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    removed[n] = only_copies(graph, classes, &graph->nodes[n]) &&
                 replace_output(graph, replacement, (int32_t)n);
  }
  for (size_t i = 0; i < graph->n_values; i++) {
    replacement[i] = find(replacement, (int32_t)i);
  }
  /* First the new uses, then the old ones away: a constant in between must not be freed. */
  lk_graph_replace_values(graph, replacement);
  for (size_t n = 0; n < graph->n_nodes; n++) {
    if (!removed[n]) continue;
    lk_graph_remove_node(graph, (int32_t)n);
    ++*out_changes;
  }
cleanup:
  lk_symbolic_shapes_destroy(classes);
  lk_free(allocator, replacement);
  lk_free(allocator, removed);
  return status;
}
