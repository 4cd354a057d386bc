/* Finds x * clip(x + 3, 0, 6) / 6, in any order of its factors, and x * HardSigmoid(x) with alpha
 * 1/6 and beta 1/2, and makes it one HardSwish. */
#include <math.h>

#include "executor_glue/passes/gated_activation.h"

/* Exporters write 1/6 as a float, or as a division by 6: equal within its rounding. */
static bool is_close(double a, double b) {
  return fabs(a - b) <= 1e-6 * fabs(b);
}

/* clip(x + 3, 0, 6) / divisor, or HardSigmoid(x). */
static bool read_gate(const lk_pass_env *env, const lk_graph *graph, int32_t gate, int32_t x,
                      lk_gated_product *product, float *out_alpha) {
  (void)out_alpha;
  const lk_node *node = lk_value_producer(graph, gate);
  lk_post_op post_op;
  if (node == NULL || !lk_node_post_op(env, graph, node, &post_op)) return false;
  const int32_t number = graph->values[gate].producer;
  if (post_op.kind == LK_POST_HARDSIGMOID) {
    return node->inputs[0] == x && is_close((double)post_op.alpha, 1.0 / 6.0) &&
           post_op.beta == 0.5f && is_close(product->coefficient, 1.0) &&
           lk_gated_add_node(product, number);
  }
  if (post_op.kind != LK_POST_CLIP || post_op.alpha != 0.0f || post_op.beta != 6.0f ||
      !is_close(product->coefficient, 1.0 / 6.0)) {
    return false;
  }
  lk_number_step step;
  const int32_t shifted = node->inputs[0];
  const lk_node *add = lk_value_producer(graph, shifted);
  return add != NULL && lk_value_is_private(graph, shifted) &&
         lk_node_number_step(env, graph, add, &step) && step.kind == LK_POST_ADD &&
         step.operand == x && step.number == 3.0f && lk_gated_add_node(product, number) &&
         lk_gated_add_node(product, graph->values[shifted].producer);
}

lk_status lk_pass_hard_swish(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error) {
  static const lk_gated gated = {.op_type = "HardSwish",
                                 .domain = "",
                                 .opset = 14,
                                 .note = "hard_swish",
                                 .read_gate = read_gate};
  return lk_gated_fuse(env, graph, &gated, out_changes, error);
}
