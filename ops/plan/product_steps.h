/* Steps of convolutions and matrix products on the microkernels, which serve every size. */
#pragma once

#include "ops/kernel/conv_shape.h"
#include "ops/kernel/product/matmul_plain.h"
#include "ops/plan/pattern.h"
#include "ops/plan/planner.h"

/* One step: output 0, channels-last, is the convolution of `shape` of input 0, weights, and bias
 * where there is one; with all of the node's post-ops. One before it packs weights that are no
 * constants. */
lk_status lk_plan_conv(lk_planner *planner, const lk_conv_shape *shape, lk_error *error);
/* The same of plain tensors whose last dimension are the channels; also of the weights, or those
 * are as ever. */
lk_status lk_plan_conv_last(lk_planner *planner, const lk_conv_shape *shape, bool weights_are_last,
                            lk_error *error);
/* The same for a transposed convolution. */
lk_status lk_plan_conv_transposed(lk_planner *planner, const lk_conv_shape *shape, lk_error *error);
/* Either, of groups that lk_depthwise_takes. */
lk_status lk_plan_depthwise(lk_planner *planner, const lk_conv_shape *shape, bool is_transposed,
                            lk_error *error);
/* Whether input 0 is plain and output 0 is wanted so. Without a wish, the next operator is as
 * likely to want channels last. */
bool lk_conv_wants_planes(lk_planner *planner);
/* The step of lk_plan_conv or, of an ordinary convolution, lk_plan_depthwise, for other sizes: the
 * same groups, channels and kernel. False: it is another step. */
bool lk_resize_conv(const lk_resizing *self, const lk_conv_shape *shape);

/* How a step of these cuts its work, "6x64 in blocks of 48x256"; "": it is another step. */
void lk_product_step_describe(const lk_step *step, char *text, size_t capacity);

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
 * `take_right` brings, packed where `matmul` says so, which is planned when it is called. */
typedef lk_status lk_take_right_fn(lk_planner *planner, const lk_matmul *matmul,
                                   lk_operand *out_operand, lk_error *error);
lk_status lk_plan_matmul_by(lk_planner *planner, lk_matmul *matmul, bool has_columns,
                            lk_layout left, lk_take_right_fn *take_right, lk_error *error);

/* One step: `c` is the product that `matmul` describes, without bias, residual and chain, of `a`
 * and `b`, none of which is packed. */
lk_status lk_plan_product(lk_planner *planner, lk_matmul *matmul, const lk_operand *a,
                          const lk_operand *b, const lk_operand *c, lk_error *error);

/* The same of inputs 0 and 1, the second packed once where it is constant, with a bias where it is
 * not NULL. Without a `k`, neither input is read. */
lk_status lk_plan_projection(lk_planner *planner, lk_matmul *matmul, const lk_operand *bias,
                             const lk_operand *c, lk_error *error);
