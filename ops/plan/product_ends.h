/* What a product does to its output before it leaves registers and cache: the first post-ops of its
 * node, as many as it can do. */
#pragma once

#include "ops/kernel/product.h"
#include "ops/plan/planner.h"

typedef struct lk_product_ends {
  int32_t bias, residual; /* inputs of the node; -1: none */
  float low, high;
  bool has_chain;
  lk_product_chain chain;
  uint32_t chain_inputs[LK_PRODUCT_CHAIN_OPERANDS]; /* of the node */
  uint32_t count;                                   /* of post-ops that all these are */
} lk_product_ends;

/* The rows and columns of a product as dimensions of output 0. */
typedef struct lk_product_output {
  lk_layout layout;
  int32_t column_dim;   /* the only one along columns; -1: there is none */
  int64_t row_step;     /* elements of a row of C */
  bool bias_is_post_op; /* an addition to each column may be the bias */
  bool chains_residual; /* an addition of the output's shape is part of the chain */
} lk_product_output;

lk_status lk_product_ends_find(const lk_planner *planner, const lk_product_output *output,
                               lk_product_ends *out_ends, lk_error *error);
