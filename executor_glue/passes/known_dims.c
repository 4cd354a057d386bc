/* What a graph computes from dimensions that are the same in every run. Exporters decide branches
 * by it: of If, whose condition is a constant then. */
#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/rewrite.h"

/* The elements that the node's output always has; NULL: it is not known, or nothing that depends on
 * dimensions. */
static const int64_t *find_numbers(const lk_graph *graph, const lk_symbolic_shapes *shapes,
                                   const lk_node *node, lk_tensor_desc *out_desc) {
  bool is_constant = true; /* the pass that computes constants is for these */
  if (!lk_node_is_plain(node) || node->n_outputs != 1) return NULL;
  for (uint32_t i = 0; i < node->n_inputs && is_constant; i++) {
    is_constant = node->inputs[i] == LK_NO_VALUE || lk_value_is_constant(graph, node->inputs[i]);
  }
  if (is_constant || !lk_symbolic_shape_desc(shapes, node->outputs[0], out_desc)) return NULL;
  return (LK_TYPES_OF_SHAPES >> out_desc->dtype & 1) == 0
             ? NULL
             : lk_symbolic_numbers(shapes, node->outputs[0]);
}

static lk_status replace(lk_graph *graph, int32_t number, const lk_tensor_desc *desc,
                         const int64_t *numbers, lk_error *error) {
  const lk_tensor_desc plain = lk_tensor_desc_make(desc->dtype, desc->rank, desc->dims);
  int64_t wide[LK_MAX_VALUES] = {0};
  int32_t narrow[LK_MAX_VALUES] = {0};
  uint8_t bits[LK_MAX_VALUES] = {0};
  for (uint32_t i = 0; i < LK_MAX_VALUES; i++) {
    wide[i] = numbers[i];
    narrow[i] = (int32_t)numbers[i];
    bits[i] = (uint8_t)numbers[i];
  }
  const lk_tensor whole = {plain, plain.dtype == LK_I64   ? (void *)wide
                                  : plain.dtype == LK_I32 ? (void *)narrow
                                                          : (void *)bits};
  LK_RETURN_NOT_OK(lk_value_copy_constant(graph, graph->nodes[number].outputs[0], &whole, error));
  lk_graph_remove_node(graph, number);
  return LK_OK;
}

lk_status lk_pass_known_dims(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error) {
  for (int32_t n = 0; (size_t)n < graph->n_nodes; n++) {
    lk_tensor_desc desc;
    LK_RETURN_NOT_OK(lk_step(error));
    if (graph->nodes[n].dead) continue;
    const int64_t *numbers = find_numbers(graph, env->shapes, &graph->nodes[n], &desc);
    if (numbers == NULL) continue;
    LK_RETURN_NOT_OK(replace(graph, n, &desc, numbers, error));
    ++*out_changes;
  }
  return LK_OK;
}
