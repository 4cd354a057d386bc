/* What a product does to its output before it leaves registers and cache: the first post-ops of its
 * node, as many as it can do. */
#pragma once

#include "ops/kernel/product/product.h"
#include "ops/plan/planner.h"

typedef struct lk_product_ends {
  int32_t bias, residual; /* inputs of the node; -1: none */
  float low, high;
  bool has_chain;
  lk_product_chain chain;
  uint32_t chain_inputs[LK_PRODUCT_CHAIN_OPERANDS]; /* of the node */
  uint32_t count;                                   /* of post-ops that all these are */
  uint32_t chain_first;                             /* of those that the chain is */
} lk_product_ends;

/* The rows and columns of a product as dimensions of output 0. */
typedef struct lk_product_output {
  lk_layout layout;
  int32_t column_dim;   /* the only one along columns; -1: there is none */
  int64_t row_step;     /* elements of a row of C */
  bool bias_is_post_op; /* an addition to each column may be the bias */
  bool chains_residual; /* an addition of the output's shape is part of the chain */
} lk_product_output;

/* Where ends are looked for: a node, and shapes. */
typedef struct lk_product_ends_of {
  const lk_op_node *node;
  const lk_tensor *inputs;  /* as an lk_planner has them */
  const lk_tensor_desc *to; /* output 0 */
  lk_product_output output;
} lk_product_ends_of;

/* All but the program of the chain: nothing else depends on sizes. */
void lk_product_ends_find(const lk_product_ends_of *of, lk_product_ends *out_ends);
/* The program, of what lk_product_ends_find has found. */
lk_status lk_product_ends_plan(const lk_product_ends_of *of, lk_product_ends *ends,
                               lk_error *error);
/* Sets the steps of the operands in the chain of a plan of the node for other sizes. False: it is
 * the chain of other post-ops, or of operands that lie otherwise. `chain`: NULL where the plan has
 * none. */
bool lk_product_ends_resize(const lk_product_ends_of *of, lk_product_chain *chain);
