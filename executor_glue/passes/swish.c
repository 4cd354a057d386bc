/* Finds x * Sigmoid(x) and x * Sigmoid(a * x) and makes it one Swish, an operator of our own domain
 * with the attribute alpha = a. */
#include <math.h>

#include "executor_glue/passes/gated_activation.h"

/* Sigmoid(alpha * x). */
static bool read_gate(const lk_pass_env *env, const lk_graph *graph, int32_t gate, int32_t x,
                      lk_gated_product *product, float *out_alpha) {
  const lk_node *node = lk_value_producer(graph, gate);
  lk_post_op post_op;
  if (product->coefficient != 1.0 || node == NULL || !lk_node_post_op(env, graph, node, &post_op) ||
      post_op.kind != LK_POST_SIGMOID) {
    return false;
  }
  const int32_t number = graph->values[gate].producer, inner = node->inputs[0];
  if (inner == x) return lk_gated_add_node(product, number);
  const lk_node *scaled = lk_value_producer(graph, inner);
  lk_number_step step;
  if (scaled == NULL || !lk_value_is_private(graph, inner) ||
      !lk_node_number_step(env, graph, scaled, &step) || step.operand != x) {
    return false;
  }
  const bool divides = step.kind == LK_POST_DIV && !step.number_first;
  if (!divides && step.kind != LK_POST_MUL) return false;
  *out_alpha = divides ? 1.0f / step.number : step.number;
  return isfinite(*out_alpha) && lk_gated_add_node(product, number) &&
         lk_gated_add_node(product, graph->values[inner].producer);
}

lk_status lk_pass_swish(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                        lk_error *error) {
  /* of our domain, where opsets mean nothing: the lowest that there is */
  static const lk_gated gated = {.op_type = "Swish",
                                 .domain = LK_FUSED_DOMAIN,
                                 .opset = 7,
                                 .note = "swish",
                                 .has_alpha = true,
                                 .read_gate = read_gate};
  return lk_gated_fuse(env, graph, &gated, out_changes, error);
}
