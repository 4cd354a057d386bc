/* Fuses Add (and Sum of two) into the convolution or matrix product that makes one side of it: the
 * other side becomes the operand of a post-op.
 *
 * ONNX broadcasts, a post-op must not enlarge its output: so both sides must be known to have equal
 * shapes in every run (symbolic_shapes.h), or the other side must be a constant that fits. No cycle
 * can arise: the product is used by the Add alone, so whatever depends on it depends on the Add,
 * and the other side, which the Add needs, cannot. */
#include "base/status.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/rewrite.h"

static bool can_fuse(const lk_pass_env *env, const lk_graph *graph, const lk_node *add,
                     int32_t product, int32_t other, lk_miss *miss) {
  const lk_node *producer = lk_value_producer(graph, product);
  if (producer == NULL || !lk_node_has(env, producer, LK_OP_TENSOR_POST_OPS)) return false;
  const int32_t target = lk_post_op_target(env, graph, product, 1 + add->n_post_ops, miss);
  if (target == LK_NO_NODE) return false;
  if (lk_symbolic_shape_dtype(env->shapes, other) != LK_F32) {
    return lk_miss_note(miss, "", "'%s' is not known to be of type f32", graph->values[other].name);
  }
  if (lk_symbolic_shape_same(env->shapes, product, other)) return true;
  if (lk_value_is_weight(graph, other) &&
      lk_symbolic_shape_takes(env->shapes, product, &graph->values[other].constant.desc)) {
    return true;
  }
  return lk_miss_note(miss, "", "'%s' is not known to have the shape of '%s' in every run",
                      graph->values[other].name, graph->values[product].name);
}

lk_status lk_pass_residual(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                           lk_error *error) {
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *add = &graph->nodes[n];
    lk_miss room, *miss = lk_refusals_listen(env->refusals, &room);
    LK_RETURN_NOT_OK(lk_step(error));
    if (lk_node_arithmetic(env, add) != LK_POST_ADD || add->n_outputs != 1 ||
        add->outputs[0] == LK_NO_VALUE) {
      continue;
    }
    const int32_t a = add->inputs[0], b = add->inputs[1];
    if (a == LK_NO_VALUE || b == LK_NO_VALUE || a == b) continue;
    const bool into_a = can_fuse(env, graph, add, a, b, miss);
    const bool into_b = can_fuse(env, graph, add, b, a, miss);
    if (!into_a && !into_b) lk_refusals_add(env->refusals, graph, (int32_t)n, miss);
    if (!into_a && !into_b) continue;
    /* Where both could, the later one: its other side is ready by then. */
    const bool a_is_later = graph->values[a].producer > graph->values[b].producer;
    const bool choose_a = into_a && (!into_b || a_is_later);
    LK_RETURN_NOT_OK(lk_graph_fuse_add(env, graph, (int32_t)n, choose_a ? a : b, choose_a ? b : a,
                                       "residual", error));
    ++*out_changes;
  }
  return LK_OK;
}
