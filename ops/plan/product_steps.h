/* Steps of matrix products, and what those of convolutions share with them. */
#pragma once

#include "ops/kernel/product/matmul_plain.h"
#include "ops/plan/planner.h"
#include "ops/plan/product_ends.h"

/* ---- what a product and a convolution have in common ---- */

/* A step while it is put together: begin, input, chain, emit. Operands 0 to 2 are src, the right
 * operand and dst. */
typedef struct lk_product_step {
  lk_product_ends_of of;
  lk_product_ends ends;
  lk_operand operands[5 + LK_PRODUCT_CHAIN_OPERANDS];
  uint32_t n_operands;
} lk_product_step;

/* What computes, and its params without the chain. */
typedef struct lk_product_kernel {
  lk_kernel_fn run;
  const char *kind;
  const void *params;
  size_t size;
  double operations;
} lk_product_kernel;

/* Finds what follows the sums; `output`: the rows and columns of the product. */
lk_status lk_product_step_begin(lk_planner *planner, lk_product_output output,
                                lk_product_step *step, lk_error *error);
/* Input `index`, if it is not -1, as a further operand. */
lk_status lk_product_step_input(lk_planner *planner, lk_product_step *step, int32_t index,
                                lk_layout layout, lk_error *error);
/* The operands of the chain. Those of the output's shape lie as it does; others have one number for
 * a row, or one for a column, in any layout. */
lk_status lk_product_step_chain(lk_planner *planner, lk_product_step *step, lk_error *error);
/* The step, and those of the post-ops that are left. */
lk_status lk_product_step_emit(lk_planner *planner, lk_product_step *step,
                               const lk_product_kernel *kernel, lk_error *error);

/* How a step of a product or a convolution cuts its work, "6x64 in blocks of 48x256"; "": it is
 * another step. */
void lk_product_step_describe(const lk_step *step, char *text, size_t capacity);

/* ---- products ---- */

/* One step: output 0 is the product that `matmul` describes (sizes and strides) of inputs 0 and 1,
 * with all of the node's post-ops. `has_columns`: the last dimension of output 0 is that of the
 * product's columns. */
lk_status lk_plan_matmul(lk_planner *planner, lk_matmul *matmul, bool has_columns, lk_error *error);

/* The layout in which these read input 0 or 1: its own where both are batches of matrices and rows
 * lie whole, else plain. */
lk_layout lk_matmul_layout(lk_planner *planner, uint32_t index);

/* The product alone, of a type that lk_matmul_plain_takes. */
lk_status lk_plan_plain_matmul(lk_planner *planner, const lk_matmul *matmul, lk_operand *out_to,
                               lk_error *error);

/* As lk_plan_matmul, of f32, with input 0 in the layout `left`, and a right operand that
 * `take_right` makes of `right`, packed where `matmul` says so, which is planned when it is
 * called. */
typedef lk_status lk_take_right_fn(lk_planner *planner, const void *right, const lk_matmul *matmul,
                                   lk_operand *out_operand, lk_error *error);
lk_status lk_plan_matmul_by(lk_planner *planner, lk_matmul *matmul, bool has_columns,
                            lk_layout left, lk_take_right_fn *take_right, const void *right,
                            lk_error *error);

/* One step: `c` is the product that `matmul` describes, without bias, residual and chain, of `a`
 * and `b`, none of which is packed. */
lk_status lk_plan_product(lk_planner *planner, lk_matmul *matmul, const lk_operand *a,
                          const lk_operand *b, const lk_operand *c, lk_error *error);

/* The same of `a` and of input `b`, which is one matrix, packed once where it is constant, with a
 * bias [columns] where it is not NULL. Of f32. Without a `k`, neither operand is read. */
lk_status lk_plan_projection(lk_planner *planner, lk_matmul *matmul, const lk_operand *a,
                             uint32_t b, const lk_operand *bias, const lk_operand *c,
                             lk_error *error);
