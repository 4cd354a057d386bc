/* Products of two values and numbers, as gated activations are exported: x * gate(x) / 6, in any
 * order of the multiplications. */
#pragma once

#include "executor_glue/passes/rewrite.h"

enum { LK_GATED_MAX_NODES = 6 };

typedef struct lk_gated_product {
  double coefficient;
  int32_t factors[2];
  uint32_t n_factors;
  int32_t nodes[LK_GATED_MAX_NODES]; /* Mul and Div, and what the caller adds; the root first */
  uint32_t n_nodes;
} lk_gated_product;

/* Adds a node that the product alone uses, to be removed with it. */
bool lk_gated_add_node(lk_gated_product *product, int32_t node);

/* x * gate(x), which becomes one operator. */
typedef struct lk_gated {
  const char *op_type, *domain;
  int32_t opset;    /* the first that has it */
  const char *note; /* for `fused` of the new node */
  bool has_alpha;   /* an attribute of the operator, 1 unless `read_gate` sets it */
  /* Whether `gate`, used by the product alone, is the gate of `x` with the product's coefficient;
   * adds the gate's nodes to the product. */
  bool (*read_gate)(const lk_pass_env *env, const lk_graph *graph, int32_t gate, int32_t x,
                    lk_gated_product *product, float *out_alpha);
} lk_gated;

/* Puts the operator in the place of all products that are one, if the table has it. */
lk_status lk_gated_fuse(const lk_pass_env *env, lk_graph *graph, const lk_gated *gated,
                        uint64_t *out_changes, lk_error *error);
