/* Fuses Add of a constant vector into a product: a post-op with the constant as its operand. */
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/passes/rewrite.h"

/* The constant does not enlarge the product: by what is certain of its shape, or, where the rank of
 * the left side is open, because the last dimension comes from constant weights alone. */
static bool fits(const lk_pass_env *env, const lk_graph *graph, const lk_symbolic_shapes *shapes,
                 const lk_node *product, const lk_tensor_desc *bias) {
  if (lk_symbolic_shape_takes(shapes, product->outputs[0], bias)) return true;
  if (!lk_node_has(env, product, LK_OP_COLUMNS) || bias->rank != 1) return false;
  if (!lk_value_is_constant(graph, product->inputs[1])) return false;
  const lk_tensor_desc *weights = &graph->values[product->inputs[1]].constant.desc;
  return weights->rank >= 2 && weights->dims[weights->rank - 1] == bias->dims[0];
}

static lk_status fuse(const lk_pass_env *env, lk_graph *graph, const lk_symbolic_shapes *shapes,
                      int32_t add, uint32_t side, uint64_t *out_changes, lk_error *error) {
  const int32_t product = graph->nodes[add].inputs[side], bias = graph->nodes[add].inputs[1 - side];
  const lk_node *producer = lk_value_producer(graph, product);
  if (producer == NULL || !lk_value_is_weight(graph, bias)) return LK_OK;
  if (!lk_node_has(env, producer, LK_OP_TENSOR_POST_OPS)) return LK_OK;
  const lk_tensor_desc *desc = &graph->values[bias].constant.desc;
  if (lk_elements(desc) == 1) return LK_OK; /* scalars: pass "activation" */
  /* A vector along the last dimension; anything else is no bias. */
  if (desc->dims[desc->rank - 1] != lk_elements(desc)) return LK_OK;
  if (!lk_value_is_private(graph, product) || !lk_node_takes_post_ops(env, producer, 1) ||
      lk_symbolic_shape_dtype(shapes, product) != LK_F32 ||
      !fits(env, graph, shapes, producer, desc)) {
    return LK_OK;
  }
  const int32_t node = graph->values[product].producer;
  lk_post_op post_op = {.kind = LK_POST_ADD, .input = -1};
  LK_RETURN_NOT_OK(lk_node_append_operand(env, graph, node, bias, &post_op.input, error));
  LK_RETURN_NOT_OK(lk_node_append_post_op(graph, node, post_op, error));
  LK_RETURN_NOT_OK(lk_node_note_fused(graph, node, "bias", error));
  lk_node_set_output(graph, node, 0, graph->nodes[add].outputs[0]);
  lk_graph_remove_node(graph, add);
  ++*out_changes;
  return LK_OK;
}

lk_status lk_pass_bias(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                       lk_error *error) {
  lk_status status = LK_OK;
  lk_symbolic_shapes *shapes = NULL;
  LK_TRY(lk_symbolic_shapes_create(env, graph, &shapes, error));
  for (size_t n = 0; n < graph->n_nodes; n++) {
    for (uint32_t side = 0; side < 2; side++) {
      const lk_node *node = &graph->nodes[n];
      if (!lk_node_is_plain(node) || lk_node_arithmetic(env, node) != LK_POST_ADD) break;
      LK_TRY(fuse(env, graph, shapes, (int32_t)n, side, out_changes, error));
    }
  }
cleanup:
  lk_symbolic_shapes_destroy(shapes);
  return status;
}
