/* What operators on quantized tensors have in common: whole numbers for real ones, by a scale and a
 * zero point of one value each. */
#pragma once

#include "ops/plan/eltwise_steps.h"

/* Input `index`, where it is there and its shape is known, has one value, or is a vector of `count`
 * values, which is a dimension that may not be known. */
lk_status lk_infer_quantizer(const lk_inference *self, uint32_t index, const char *what,
                             int64_t count, lk_error *error);

/* The least and largest number of an integer type of up to 16 bits. */
void lk_quantized_range(uint32_t dtype, float *out_least, float *out_largest);

/* (value - zero) scale, in f32, of any operand; inputs `scale` and `zero`, of one value, of which
 * the latter may be absent. */
lk_status lk_chain_dequantize(lk_chain *self, uint32_t scale, uint32_t zero,
                              lk_element_value *inout_value, lk_error *error);
/* saturate(round(value / scale) + zero), ties to even, in the type of the chain's output. */
lk_status lk_chain_quantize(lk_chain *self, uint32_t scale, uint32_t zero,
                            lk_element_value *inout_value, lk_error *error);

/* Steps: `x` (f32) quantized to `y` (u8) by the scale and zero point that fit it, which are written
 * too. */
lk_status lk_plan_dynamic_quantize(lk_planner *planner, const lk_operand *x, const lk_operand *y,
                                   const lk_operand *scale, const lk_operand *zero,
                                   lk_error *error);
