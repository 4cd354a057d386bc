/* Steps of products and convolutions of bytes. */
#pragma once

#include "ops/kernel/integer/depthwise_integer.h"
#include "ops/kernel/integer/product_integer.h"
#include "ops/kernel/product/matmul.h"
#include "ops/plan/planner.h"

/* A step while it is put together:
 *
 *   lk_integer_step step;
 *   lk_integer_matmul(&matmul, &step);          or lk_integer_conv
 *   LK_RETURN_NOT_OK(lk_integer_take(planner, &step, LK_INTEGER_A_ZERO, 2, error));  ...
 *   return lk_integer_emit(planner, &step, 1, error);
 *
 * Operands that are not given are left out: zero points of 0, no scale, no bias. */
typedef struct lk_integer_step {
  lk_product_integer product;
  bool is_depthwise; /* then `product` is not the step, but has what the step is made of */
  bool pads_weights; /* those of no channel may lie between the others: the byte 0 is their zero */
  lk_operand operands[LK_INTEGER_ROLES]; /* those of product.has */
} lk_integer_step;

/* Input `index`, of bytes, is certain to be 0, or not there. */
bool lk_integer_is_zero(const lk_planner *planner, uint32_t index);

/* Plain matrices. */
void lk_integer_matmul(const lk_matmul *matmul, lk_integer_step *out_step);
/* Channels-last tensors. `w_zero`: the input that is the zero point of the weights. */
void lk_integer_conv(lk_planner *planner, const lk_conv_shape *shape, uint32_t w_zero,
                     lk_integer_step *out_step);

void lk_integer_give(lk_integer_step *self, lk_integer_role role, const lk_operand *operand);
/* Input `index`, where it is there: A in the layout that it has to have, all others plain. */
lk_status lk_integer_take(lk_planner *planner, lk_integer_step *self, lk_integer_role role,
                          uint32_t index, lk_error *error);
/* factor a_scale b_scale / c_scale, of which c_scale may be no input (-1), as the step's scale. */
lk_status lk_integer_scale(lk_planner *planner, lk_integer_step *self, float factor,
                           const lk_operand *a_scale, uint32_t b_scale, int32_t c_scale,
                           lk_error *error);
/* Input `index` as it is packed for a product, which is planned by that. */
lk_status lk_integer_right_input(lk_planner *planner, lk_product_integer *product, uint32_t index,
                                 lk_operand *out_operand, lk_error *error);
/* Input `b` is packed, and the step is emitted; it writes output 0 where LK_INTEGER_C is not
 * given. */
lk_status lk_integer_emit(lk_planner *planner, lk_integer_step *self, uint32_t b, lk_error *error);
