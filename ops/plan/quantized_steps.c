/* What operators on quantized tensors have in common. */
#include "ops/plan/quantized_steps.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/moves.h"
#include "ops/plan/reduction.h"

lk_status lk_infer_quantizer(const lk_inference *self, uint32_t index, const char *what,
                             int64_t count, lk_error *error) {
  if (!lk_op_has(self->node, index)) return LK_OK;
  const lk_tensor_desc *desc = &self->inputs[index].desc;
  if (!lk_shape_is_known(desc)) return LK_OK;
  if (desc->rank <= 1 && lk_elements(desc) == 1) return LK_OK;
  if (desc->rank == 1 && !lk_dims_differ(desc->dims[0], count)) return LK_OK;
  char text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "the %s is %s, it must have one value, or be a vector of %" PRId64, what,
                 lk_tensor_text(desc, text), count);
}

void lk_quantized_range(uint32_t dtype, float *out_least, float *out_largest) {
  const bool is_signed = dtype == LK_I8 || dtype == LK_I16;
  const float range = lk_dtype_size(dtype) == 1 ? 256 : 65536;
  *out_least = is_signed ? -range / 2 : 0;
  *out_largest = *out_least + range - 1;
}

static lk_status take_single(lk_chain *self, uint32_t index, lk_element_value *out,
                             lk_error *error) {
  lk_operand operand;
  LK_RETURN_NOT_OK(lk_planner_input(self->planner, index, LK_LAYOUT_PLAIN, &operand, error));
  operand.desc.rank = 0;
  *out = lk_chain_operand(self, &operand);
  return LK_OK;
}

lk_status lk_chain_dequantize(lk_chain *self, uint32_t scale, uint32_t zero,
                              lk_element_value *inout_value, lk_error *error) {
  lk_element_program *program = &self->program;
  lk_element_value of_scale, of_zero;
  if (lk_op_has(self->planner->node, zero)) {
    LK_RETURN_NOT_OK(take_single(self, zero, &of_zero, error));
    *inout_value = lk_element_binary(program, LK_ELEMENT_SUB, *inout_value, of_zero);
  }
  LK_RETURN_NOT_OK(take_single(self, scale, &of_scale, error));
  *inout_value = lk_element_cast(program, *inout_value, LK_F32);
  *inout_value = lk_element_binary(program, LK_ELEMENT_MUL, *inout_value, of_scale);
  return LK_OK;
}

/* `zero` is f32. */
static lk_element_value quantize(lk_chain *self, lk_element_value x, lk_element_value scale,
                                 const lk_element_value *zero) {
  lk_element_program *program = &self->program;
  float least, largest;
  lk_quantized_range(self->to.desc.dtype, &least, &largest);
  lk_element_value y = lk_element_binary(program, LK_ELEMENT_DIV, x, scale);
  y = lk_element_unary(program, LK_ELEMENT_ROUND, y, 0, 0);
  if (zero != NULL) y = lk_element_binary(program, LK_ELEMENT_ADD, y, *zero);
  y = lk_element_unary(program, LK_ELEMENT_CLIP, y, least, largest);
  return lk_element_cast(program, y, self->to.desc.dtype);
}

lk_status lk_chain_quantize(lk_chain *self, uint32_t scale, uint32_t zero,
                            lk_element_value *inout_value, lk_error *error) {
  lk_element_value of_scale, of_zero;
  const bool has_zero = lk_op_has(self->planner->node, zero);
  LK_RETURN_NOT_OK(take_single(self, scale, &of_scale, error));
  if (has_zero) {
    LK_RETURN_NOT_OK(take_single(self, zero, &of_zero, error));
    of_zero = lk_element_cast(&self->program, of_zero, LK_F32);
  }
  *inout_value = quantize(self, *inout_value, of_scale, has_zero ? &of_zero : NULL);
  return LK_OK;
}

/* ---- by the range of the elements ---- */

/* The least or largest element of `x`, and 0 where there is none, as a single f32. */
static lk_status reduce(lk_planner *planner, lk_operand x, lk_reduce_kind kind, lk_operand *out,
                        lk_error *error) {
  const int64_t one = 1, count = lk_elements(&x.desc);
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, &one);
  const lk_reduction reduction = {kind, .divisor = 1};
  const float nothing = 0;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  if (count == 0) return lk_plan_fill(planner, out, sizeof nothing, &nothing, error);
  x.desc = lk_tensor_desc_make(LK_F32, 1, &count);
  return lk_plan_reduce_step(planner, &x, out, 1, &reduction, error);
}

static lk_element_value take_bound(lk_chain *chain, const lk_operand *bound, lk_element_op op) {
  const lk_element_value value = lk_chain_operand(chain, bound);
  return lk_element_binary(&chain->program, op, value,
                           lk_element_number(&chain->program, LK_F32, 0));
}

/* (most - least) / 255, where 0 is always between them; 1 where all elements are 0, as ONNX Runtime
 * has it: ONNX's own formula divides by 0 then. */
static lk_status plan_scale(lk_planner *planner, const lk_operand bounds[2],
                            const lk_operand *scale, lk_error *error) {
  lk_chain chain;
  lk_chain_begin_at(planner, scale, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value least = take_bound(&chain, &bounds[0], LK_ELEMENT_MIN);
  const lk_element_value most = take_bound(&chain, &bounds[1], LK_ELEMENT_MAX);
  const lk_element_value is_flat = lk_element_binary(program, LK_ELEMENT_EQUAL, least, most);
  const lk_element_value range = lk_element_binary(program, LK_ELEMENT_SUB, most, least);
  const lk_element_value step = lk_element_binary(program, LK_ELEMENT_DIV, range,
                                                  lk_element_number(program, LK_F32, UINT8_MAX));
  chain.value = lk_element_ternary(program, LK_ELEMENT_WHERE, is_flat,
                                   lk_element_number(program, LK_F32, 1), step);
  return lk_chain_step(&chain, error);
}

static lk_status plan_zero(lk_planner *planner, const lk_operand *least, const lk_operand *scale,
                           const lk_operand *zero, lk_error *error) {
  lk_chain chain;
  lk_chain_begin_at(planner, zero, &chain);
  lk_element_program *program = &chain.program;
  const lk_element_value bound = take_bound(&chain, least, LK_ELEMENT_MIN);
  chain.value = lk_element_binary(program, LK_ELEMENT_DIV, bound, lk_chain_operand(&chain, scale));
  lk_chain_unary(&chain, LK_ELEMENT_NEG, 0, 0);
  lk_chain_unary(&chain, LK_ELEMENT_CLIP, 0, UINT8_MAX);
  lk_chain_unary(&chain, LK_ELEMENT_ROUND, 0, 0);
  chain.value = lk_element_cast(program, chain.value, LK_U8);
  return lk_chain_step(&chain, error);
}

lk_status lk_plan_dynamic_quantize(lk_planner *planner, const lk_operand *x, const lk_operand *y,
                                   const lk_operand *scale, const lk_operand *zero,
                                   lk_error *error) {
  lk_operand bounds[2], one_scale = *scale, one_zero = *zero;
  lk_chain chain;
  LK_RETURN_NOT_OK(reduce(planner, *x, LK_REDUCE_MIN, &bounds[0], error));
  LK_RETURN_NOT_OK(reduce(planner, *x, LK_REDUCE_MAX, &bounds[1], error));
  bounds[0].desc.rank = bounds[1].desc.rank = one_scale.desc.rank = one_zero.desc.rank = 0;
  LK_RETURN_NOT_OK(plan_scale(planner, bounds, &one_scale, error));
  LK_RETURN_NOT_OK(plan_zero(planner, &bounds[0], &one_scale, &one_zero, error));
  if (lk_elements(&x->desc) == 0) return LK_OK;
  lk_chain_begin_at(planner, y, &chain);
  const lk_element_value value = lk_chain_operand(&chain, x);
  const lk_element_value of_scale = lk_chain_operand(&chain, &one_scale);
  const lk_element_value of_zero =
      lk_element_cast(&chain.program, lk_chain_operand(&chain, &one_zero), LK_F32);
  chain.value = quantize(&chain, value, of_scale, &of_zero);
  return lk_chain_step(&chain, error);
}
