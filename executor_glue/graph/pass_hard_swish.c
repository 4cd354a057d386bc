/* Finds x * clip(x + 3, 0, 6) / 6, in any order of its factors, and x * HardSigmoid(x) with alpha
 * 1/6 and beta 1/2, and makes it one HardSwish. */
#include <math.h>

#include "executor_glue/graph/product.h"
#include "plugin/base/status.h"

lk_status lk_pass_hard_swish(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error);

enum { HARD_SWISH_OPSET = 14 }; /* the first that has it */

/* Exporters write 1/6 as a float, or as a division by 6: equal within its rounding. */
static bool is_close(double a, double b) {
  return fabs(a - b) <= 1e-6 * fabs(b);
}

/* `gate` is clip(x + 3, 0, 6) / divisor or HardSigmoid(x), used by the product alone. */
static bool read_gate(const lk_graph *graph, const lk_shape_classes *classes, int32_t gate,
                      int32_t x, lk_product *product) {
  const lk_node *node = lk_value_producer(graph, gate);
  if (node == NULL || !lk_value_is_private(graph, gate)) return false;
  const int32_t number = graph->values[gate].producer;
  if (lk_node_is_plain(node, "HardSigmoid")) {
    const double alpha = (double)lk_node_attr_float(node, "alpha", 0.2f);
    return node->inputs[0] == x && is_close(alpha, 1.0 / 6.0) &&
           lk_node_attr_float(node, "beta", 0.5f) == 0.5f && is_close(product->coefficient, 1.0) &&
           lk_product_add_node(product, number);
  }
  float low = 0.0f, high = 0.0f, three = 0.0f;
  if (!lk_node_is_plain(node, "Clip") || !lk_clip_bounds(graph, node, &low, &high) || low != 0.0f ||
      high != 6.0f || !is_close(product->coefficient, 1.0 / 6.0)) {
    return false;
  }
  const int32_t shifted = node->inputs[0];
  const lk_node *add = lk_value_producer(graph, shifted);
  return add != NULL && lk_value_is_private(graph, shifted) &&
         lk_scalar_operand(graph, classes, add, "Add", &three) == x && three == 3.0f &&
         lk_product_add_node(product, number) &&
         lk_product_add_node(product, graph->values[shifted].producer);
}

lk_status lk_pass_hard_swish(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error) {
  if (lk_pass_op_row(env, "HardSwish", "", HARD_SWISH_OPSET) == NULL) return LK_OK;
  lk_shape_classes *classes = NULL;
  lk_status status = lk_shape_classes_create(graph, &classes, error);
  if (status != LK_OK) return status;
  const size_t n_nodes = graph->n_nodes;
  for (size_t n = 0; n < n_nodes; n++) {
    lk_product product;
    if (!lk_product_read(graph, classes, (int32_t)n, &product)) continue;
    const uint32_t n_inner = product.n_nodes;
    for (int side = 0; side < 2; side++) {
      product.n_nodes = n_inner; /* without what the other side had added */
      const int32_t x = product.factors[side], gate = product.factors[1 - side];
      if (lk_shape_class_dtype(classes, x) != LK_F32 ||
          !read_gate(graph, classes, gate, x, &product)) {
        continue;
      }
      LK_TRY(lk_product_replace(graph, &product, "HardSwish", "", HARD_SWISH_OPSET, x, NULL,
                                "hard_swish", error));
      ++*out_changes;
      break;
    }
  }
cleanup:
  lk_shape_classes_destroy(classes);
  return status;
}
