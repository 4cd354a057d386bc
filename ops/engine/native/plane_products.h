/* Convolutions of plain tensors that are products of matrices as they lie: of 1 x 1, and transposed
 * ones of few output channels. A channel's plane is a row of the right operand, so that nothing is
 * brought to channels-last and back. */
#pragma once

#include "ops/kernel/conv_shape.h"
#include "ops/plan/work.h"

/* Whether input 0 is plain and output 0 is wanted so. Without a wish, the next operator is as
 * likely to want channels last. */
bool lk_conv_wants_planes(lk_planner *planner);

/* Whether output 0 is best planned by the functions below: input 0 is plain, output 0 is wanted
 * plain, and the convolution is of one of those kinds. */
bool lk_plane_product_takes(lk_planner *planner, const lk_conv_shape *shape);
bool lk_plane_product_takes_transposed(lk_planner *planner, const lk_conv_shape *shape);

/* Output 0 of a task of kind conv or conv_transposed, plain: the product, for a
 * transposed convolution its windows added up, then bias and post-ops in one pass where there are
 * any. */
lk_status lk_plan_plane_product(lk_planner *planner, const lk_task *task,
                                const lk_conv_shape *shape, lk_error *error);
lk_status lk_plan_plane_product_transposed(lk_planner *planner, const lk_task *task,
                                           const lk_conv_shape *shape, lk_error *error);
