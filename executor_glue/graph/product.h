/* Products of two values and numbers, as gated activations are exported: x * gate(x) / 6, in any
 * order of the multiplications. */
#ifndef LK_GRAPH_PRODUCT_H
#define LK_GRAPH_PRODUCT_H

#include "executor_glue/graph/rewrite.h"

enum { LK_PRODUCT_MAX_NODES = 6 };

typedef struct lk_product {
  double coefficient;
  int32_t factors[2];
  uint32_t n_factors;
  int32_t nodes[LK_PRODUCT_MAX_NODES]; /* Mul and Div, and what the caller adds; the root first */
  uint32_t n_nodes;
} lk_product;

/* Reads node `root` as coefficient * factor * factor. False: it is no such product. Inner nodes are
 * used by the product alone, and numbers do not change the shape of what they multiply. */
bool lk_product_read(const lk_graph *graph, const lk_shape_classes *classes, int32_t root,
                     lk_product *out);
/* Adds a node that the product alone uses, to be removed with it. */
bool lk_product_add_node(lk_product *product, int32_t node);
/* The input of Add, Mul or Div (`op_type`) with one number; LK_NO_VALUE: it is not that. */
int32_t lk_scalar_operand(const lk_graph *graph, const lk_shape_classes *classes,
                          const lk_node *node, const char *op_type, float *out_number);

/* Puts a new operator of one input in the place of all of the product's nodes. `alpha` is its
 * attribute, or NULL. */
lk_status lk_product_replace(lk_graph *graph, const lk_product *product, const char *op_type,
                             const char *domain, int32_t opset, int32_t input, const float *alpha,
                             const char *note, lk_error *error);

#endif
