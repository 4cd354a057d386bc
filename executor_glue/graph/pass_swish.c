/* Finds x * Sigmoid(x) and x * Sigmoid(a * x) and makes it one Swish, an operator of our own domain
 * with the attribute alpha = a. */
#include <math.h>

#include "executor_glue/graph/product.h"
#include "plugin/base/status.h"

lk_status lk_pass_swish(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                        lk_error *error);

enum { SWISH_OPSET = 7 }; /* of our domain, where opsets mean nothing: the lowest that there is */

/* `gate` is Sigmoid(alpha * x), used by the product alone. */
static bool read_gate(const lk_graph *graph, const lk_shape_classes *classes, int32_t gate,
                      int32_t x, lk_product *product, float *out_alpha) {
  const lk_node *node = lk_value_producer(graph, gate);
  if (node == NULL || !lk_value_is_private(graph, gate) || !lk_node_is_plain(node, "Sigmoid")) {
    return false;
  }
  const int32_t number = graph->values[gate].producer, inner = node->inputs[0];
  *out_alpha = 1.0f;
  if (inner == x) return lk_product_add_node(product, number);
  const lk_node *scaled = lk_value_producer(graph, inner);
  if (scaled == NULL || !lk_value_is_private(graph, inner)) return false;
  if (lk_scalar_operand(graph, classes, scaled, "Div", out_alpha) == x) {
    *out_alpha = 1.0f / *out_alpha;
  } else if (lk_scalar_operand(graph, classes, scaled, "Mul", out_alpha) != x) {
    return false;
  }
  return isfinite(*out_alpha) && lk_product_add_node(product, number) &&
         lk_product_add_node(product, graph->values[inner].producer);
}

lk_status lk_pass_swish(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                        lk_error *error) {
  if (lk_pass_op_row(env, "Swish", LK_FUSED_DOMAIN, SWISH_OPSET) == NULL) return LK_OK;
  lk_shape_classes *classes = NULL;
  lk_status status = lk_shape_classes_create(graph, &classes, error);
  if (status != LK_OK) return status;
  const size_t n_nodes = graph->n_nodes;
  for (size_t n = 0; n < n_nodes; n++) {
    lk_product product;
    if (!lk_product_read(graph, classes, (int32_t)n, &product) || product.coefficient != 1.0) {
      continue;
    }
    const uint32_t n_inner = product.n_nodes;
    for (int side = 0; side < 2; side++) {
      product.n_nodes = n_inner; /* without what the other side had added */
      const int32_t x = product.factors[side], gate = product.factors[1 - side];
      float alpha = 1.0f;
      if (lk_shape_class_dtype(classes, x) != LK_F32 ||
          !read_gate(graph, classes, gate, x, &product, &alpha)) {
        continue;
      }
      LK_TRY(lk_product_replace(graph, &product, "Swish", LK_FUSED_DOMAIN, SWISH_OPSET, x, &alpha,
                                "swish", error));
      ++*out_changes;
      break;
    }
  }
cleanup:
  lk_shape_classes_destroy(classes);
  return status;
}
