/* Weights as the kernels of convolutions, matrix products and recurrent layers read them: input 1
 * of the node, packed once for all sizes where it is constant. Else a step packs those of all but
 * matrix products in each run. */
#pragma once

#include "ops/kernel/conv/conv.h"
#include "ops/kernel/conv/conv_transposed.h"
#include "ops/kernel/conv/depthwise_weights.h"
#include "ops/kernel/product/matmul.h"
#include "ops/kernel/sequence/recurrent.h"
#include "ops/plan/planner.h"

/* The params are planned. */
lk_status lk_conv_weights(lk_planner *planner, const lk_conv *conv, lk_operand *out_operand,
                          lk_error *error);
lk_status lk_conv_transposed_weights(lk_planner *planner, const lk_conv_transposed *conv,
                                     lk_operand *out_operand, lk_error *error);
lk_status lk_depthwise_weights(lk_planner *planner, const lk_depthwise *depthwise,
                               lk_operand *out_operand, lk_error *error);
/* Of input `input`, which is constant. */
lk_status lk_matmul_weights(lk_planner *planner, const lk_matmul *matmul, uint32_t input,
                            lk_operand *out_operand, lk_error *error);
/* Of input `input`, which is R. */
lk_status lk_recurrent_r(lk_planner *planner, const lk_recurrent_weights *weights, uint32_t input,
                         lk_operand *out_operand, lk_error *error);
