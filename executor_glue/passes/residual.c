/* Fuses Add (and Sum of two) into the convolution or matrix product that makes one side of it: the
 * other side becomes the operand of a post-op.
 *
 * ONNX broadcasts, a post-op must not enlarge its output: so both sides must be known to have equal
 * shapes in every run (symbolic_shapes.h), or the other side must be a constant that fits. No cycle
 * can arise: the product is used by the Add alone, so whatever depends on it depends on the Add,
 * and the other side, which the Add needs, cannot. */
#include "base/status.h"
#include "executor_glue/passes/rewrite.h"

static bool can_fuse(const lk_pass_env *env, const lk_graph *graph,
                     const lk_symbolic_shapes *shapes, const lk_node *add, int32_t product,
                     int32_t other) {
  const lk_node *producer = lk_value_producer(graph, product);
  if (producer == NULL || producer->outputs[0] != product) return false;
  if (!lk_node_has(env, producer, LK_OP_TENSOR_POST_OPS) || !lk_value_is_private(graph, product) ||
      !lk_node_takes_post_ops(env, producer, 1 + add->n_post_ops) ||
      lk_symbolic_shape_dtype(shapes, product) != LK_F32 ||
      lk_symbolic_shape_dtype(shapes, other) != LK_F32) {
    return false;
  }
  if (lk_symbolic_shape_same(shapes, product, other)) return true;
  return lk_value_is_weight(graph, other) &&
         lk_symbolic_shape_takes(shapes, product, &graph->values[other].constant.desc);
}

static lk_status fuse(const lk_pass_env *env, lk_graph *graph, int32_t add, int32_t product,
                      int32_t other, lk_error *error) {
  const int32_t node = graph->values[product].producer;
  lk_post_op post_op = {.kind = LK_POST_ADD, .input = -1};
  LK_RETURN_NOT_OK(lk_node_append_operand(env, graph, node, other, &post_op.input, error));
  LK_RETURN_NOT_OK(lk_node_append_post_op(graph, node, post_op, error));
  LK_RETURN_NOT_OK(lk_node_note_fused(graph, node, "residual", error));
  LK_RETURN_NOT_OK(lk_node_copy_post_ops(env, graph, add, node, error));
  if (graph->nodes[add].fused[0] != '\0') {
    LK_RETURN_NOT_OK(lk_node_note_fused(graph, node, graph->nodes[add].fused, error));
  }
  lk_node_set_output(graph, node, 0, graph->nodes[add].outputs[0]);
  lk_graph_remove_node(graph, add);
  return LK_OK;
}

lk_status lk_pass_residual(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                           lk_error *error) {
  lk_status status = LK_OK;
  lk_symbolic_shapes *shapes = NULL;
  LK_TRY(lk_symbolic_shapes_create(env, graph, &shapes, error));
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *add = &graph->nodes[n];
    if (lk_node_arithmetic(env, add) != LK_POST_ADD || add->n_outputs != 1 ||
        add->outputs[0] == LK_NO_VALUE) {
      continue;
    }
    const int32_t a = add->inputs[0], b = add->inputs[1];
    if (a == LK_NO_VALUE || b == LK_NO_VALUE || a == b) continue;
    const bool into_a = can_fuse(env, graph, shapes, add, a, b);
    const bool into_b = can_fuse(env, graph, shapes, add, b, a);
    if (!into_a && !into_b) continue;
    /* Where both could, the later one: its other side is ready by then. */
    const bool a_is_later = graph->values[a].producer > graph->values[b].producer;
    const bool choose_a = into_a && (!into_b || a_is_later);
    LK_TRY(fuse(env, graph, (int32_t)n, choose_a ? a : b, choose_a ? b : a, error));
    ++*out_changes;
  }
cleanup:
  lk_symbolic_shapes_destroy(shapes);
  return status;
}
