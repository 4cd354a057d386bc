/* What operators on quantized tensors have in common. */
#include "ops/plan/quantized_steps.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/sizes.h"
#include "ops/kernel/strides.h"
#include "ops/plan/moves.h"

lk_status lk_infer_quantizer(const lk_inference *self, uint32_t index, const char *what,
                             int64_t count, lk_error *error) {
  if (!lk_op_has(self->node, index)) return LK_OK;
  const lk_tensor_desc *desc = &self->inputs[index].desc;
  if (!lk_shape_is_known(desc)) return LK_OK;
  if (desc->rank <= 1 && lk_elements(desc) == 1) return LK_OK;
  if (desc->rank == 1 && !lk_dims_differ(desc->dims[0], count)) return LK_OK;
  char text[LK_TENSOR_TEXT_CAPACITY];
  if (count == 1) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "the %s is %s, it must have one value", what,
                   lk_tensor_text(desc, text));
  }
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "the %s is %s, it must have one value, or be a vector of %" PRId64, what,
                 lk_tensor_text(desc, text), count);
}

lk_status lk_infer_quantizers(const lk_inference *self, lk_error *error) {
  const bool is_binary = self->node->class_->row.max_inputs == 8;
  const uint32_t least = is_binary ? 7 : 4;
  for (uint32_t i = 1; i < lk_max(least, self->node->n_operands); i++) {
    const bool is_tensor = is_binary && i == 3;
    const bool is_scale = is_binary ? i == 1 || i == 4 || i == 6 : i == 1 || i == 3;
    if ((is_tensor || is_scale) && !lk_op_has(self->node, i)) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "input %" PRIu32 " is absent, it is required", i);
    }
    if (is_tensor) continue;
    LK_RETURN_NOT_OK(lk_infer_quantizer(self, i, is_scale ? "scale" : "zero point", 1, error));
  }
  return LK_OK;
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
  y = lk_element_unary(program, LK_ELEMENT_SATURATE, y, least, largest);
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

lk_status lk_plan_dequantized(lk_planner *planner, lk_layout layout, lk_operand *out_real,
                              lk_error *error) {
  lk_operand x;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &x, error));
  lk_tensor_desc desc = x.desc;
  desc.dtype = LK_F32;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out_real, error));
  lk_chain_begin_at(planner, out_real, &chain);
  chain.value = lk_chain_operand(&chain, &x);
  LK_RETURN_NOT_OK(lk_chain_dequantize(&chain, 1, 2, &chain.value, error));
  return lk_chain_step(&chain, error);
}

lk_status lk_plan_quantized(lk_planner *planner, const lk_operand *real, const lk_operand *y,
                            lk_error *error) {
  lk_chain chain;
  lk_chain_begin_at(planner, y, &chain);
  chain.value = lk_chain_operand(&chain, real);
  LK_RETURN_NOT_OK(lk_chain_quantize(&chain, 3, 4, &chain.value, error));
  return lk_chain_step(&chain, error);
}

/* ---- by the range of the elements ---- */

lk_status lk_plan_dynamic_quantize(lk_planner *planner, const lk_quantized *of,
                                   const lk_operand *lengths, lk_error *error) {
  const int64_t batch = lengths != NULL ? lk_elements(&lengths->desc) : 0;
  const lk_tensor_desc *x = &of->x.desc;
  lk_quantize step = {.loops = lk_integer_loops_get(lk_isa_get()),
                      .count = lk_elements(x),
                      .batch = batch,
                      .step = lengths != NULL ? lk_count_dims(x, 1, x->rank) : 0};
  lk_operand operands[6] = {of->x, of->y, of->scale, of->zero};
  uint32_t n = 4;
  lk_quantize_plan(&step);
  const int64_t size = lk_quantize_scratch_size(&step);
  const lk_tensor_desc scratch = lk_tensor_desc_make(LK_F32, 1, &size);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &scratch, &operands[n++], error));
  if (lengths != NULL && step.step != 0) operands[n++] = *lengths;
  return lk_planner_kernel(planner, lk_quantize_kernel, "quantize", &step, sizeof step, operands, n,
                           error);
}

lk_status lk_plan_quantize_input(lk_planner *planner, uint32_t index, const lk_operand *lengths,
                                 lk_quantized *out, lk_error *error) {
  const lk_tensor_desc scale = lk_tensor_desc_make(LK_F32, 0, NULL);
  const lk_tensor_desc zero = lk_tensor_desc_make(LK_U8, 0, NULL);
  LK_RETURN_NOT_OK(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, &out->x, error));
  lk_tensor_desc bytes = out->x.desc;
  bytes.dtype = LK_U8;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &bytes, &out->y, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &scale, &out->scale, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &zero, &out->zero, error));
  return lk_plan_dynamic_quantize(planner, out, lengths, error);
}

/* Adds the scale of a quantized tensor, and its zero point where it has one. */
static lk_status add_type(lk_planner *planner, const lk_byte_operand *of, lk_operand *operands,
                          uint32_t *inout_n, bool *out_is_signed, bool *out_has_zero,
                          lk_error *error) {
  *out_is_signed = of->bytes.desc.dtype == LK_I8;
  *out_has_zero = lk_op_has(planner->node, of->zero);
  LK_RETURN_NOT_OK(
      lk_planner_input(planner, of->scale, LK_LAYOUT_PLAIN, &operands[(*inout_n)++], error));
  if (!*out_has_zero) return LK_OK;
  return lk_planner_input(planner, of->zero, LK_LAYOUT_PLAIN, &operands[(*inout_n)++], error);
}

bool lk_byte_rows_of(const lk_tensor_desc *y, const lk_tensor_desc *b, int64_t *out_repeat,
                     int64_t *out_row) {
  int64_t of_y[LK_MAX_RANK], of_b[LK_MAX_RANK], dims[LK_MAX_RANK];
  const uint32_t rank = y->rank;
  const bool is_last = y->layout == LK_LAYOUT_CHANNELS_LAST;
  lk_strides(y, 1, of_y);
  lk_broadcast_strides(b, rank, 1, of_b);
  memcpy(dims, y->dims, sizeof dims);
  if (is_last) { /* in the order of memory: the second dimension comes last */
    int64_t *const of_each[] = {dims, of_y, of_b};
    for (uint32_t i = 0; i < 3; i++) {
      const int64_t channels = of_each[i][1];
      memmove(of_each[i] + 1, of_each[i] + 2, (rank - 2) * sizeof channels);
      of_each[i][rank - 1] = channels;
    }
  }
  uint32_t left = lk_merge_dims(rank, dims, of_y, of_b);
  *out_repeat = *out_row = 1;
  if (left > 0 && of_b[left - 1] == 1) *out_row = dims[--left];
  if (left > 0 && of_b[left - 1] == 0) *out_repeat = dims[--left];
  return left == 0 || (left == 1 && of_b[0] == *out_row);
}

lk_status lk_plan_bytes(lk_planner *planner, lk_bytes_kind kind, const lk_operand *real,
                        const lk_byte_operand *bytes, lk_error *error) {
  const uint32_t count = real != NULL ? 1 : 3;
  lk_bytes step = {.loops = lk_integer_loops_get(lk_isa_get()),
                   .kind = kind,
                   .count = lk_elements(&bytes[0].bytes.desc)};
  lk_operand operands[9];
  uint32_t n = 0;
  if (real != NULL) {
    const int64_t inner = bytes[0].inner;
    step.inner = inner > 0 ? inner : lk_max(1, step.count);
    step.channels = inner > 0 ? lk_elements(&planner->inputs[bytes[0].scale].desc) : 1;
  } else {
    (void)lk_byte_rows_of(&bytes[2].bytes.desc, &bytes[1].bytes.desc, &step.repeat, &step.row);
  }
  if (real != NULL && kind == LK_BYTES_QUANTIZE) operands[n++] = *real;
  for (uint32_t i = 0; i < count; i++) operands[n++] = bytes[i].bytes;
  if (real != NULL && kind == LK_BYTES_DEQUANTIZE) operands[n++] = *real;
  for (uint32_t i = 0; i < count; i++) {
    LK_RETURN_NOT_OK(
        add_type(planner, &bytes[i], operands, &n, &step.is_signed[i], &step.has_zero[i], error));
  }
  return lk_planner_kernel(planner, lk_bytes_kernel, "bytes", &step, sizeof step, operands, n,
                           error);
}

/* Operands of a step from bytes to bytes: both, and what they stand for. */
typedef struct converted {
  lk_operand operands[6];
  uint32_t n;
} converted;

static lk_status add_both(lk_planner *planner, const lk_byte_operand *from,
                          const lk_byte_operand *to, converted *out, bool out_is_signed[2],
                          bool out_has_zero[2], lk_error *error) {
  const lk_byte_operand *const both[] = {from, to};
  *out = (converted){{from->bytes, to->bytes}, 2};
  for (uint32_t i = 0; i < 2; i++) {
    LK_RETURN_NOT_OK(add_type(planner, both[i], out->operands, &out->n, &out_is_signed[i],
                              &out_has_zero[i], error));
  }
  return LK_OK;
}

lk_status lk_plan_byte_rows(lk_planner *planner, const lk_byte_rows *rows,
                            const lk_byte_operand *from, const lk_byte_operand *to,
                            lk_error *error) {
  lk_byte_rows step = *rows;
  converted of;
  step.loops = lk_integer_loops_get(lk_isa_get());
  LK_RETURN_NOT_OK(add_both(planner, from, to, &of, step.is_signed, step.has_zero, error));
  return lk_planner_kernel(planner, lk_byte_rows_kernel, "bytes", &step, sizeof step, of.operands,
                           of.n, error);
}

/* Input 0 and output 0 of a row of one tensor. */
static lk_status add_pair(lk_planner *planner, lk_layout layout, converted *out,
                          bool out_is_signed[2], bool out_has_zero[2], lk_error *error) {
  lk_byte_operand from = {.scale = 1, .zero = 2}, to = {.scale = 3, .zero = 4};
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &from.bytes, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to.bytes, error));
  return add_both(planner, &from, &to, out, out_is_signed, out_has_zero, error);
}

lk_status lk_plan_byte_table(lk_planner *planner, lk_element_op op, float p, lk_layout layout,
                             lk_error *error) {
  const lk_isa isa = lk_isa_get();
  lk_byte_table step = {.loops = lk_integer_loops_get(isa),
                        .function = lk_element_loops_for(isa)->ops[op][LK_ELEMENT_F32].all,
                        .p = p,
                        .count = lk_elements(&planner->outputs[0])};
  converted of;
  LK_RETURN_NOT_OK(add_pair(planner, layout, &of, step.is_signed, step.has_zero, error));
  return lk_planner_kernel(planner, lk_byte_table_kernel, "bytes", &step, sizeof step, of.operands,
                           of.n, error);
}

lk_status lk_plan_byte_means(lk_planner *planner, const lk_byte_means *means, lk_layout layout,
                             lk_error *error) {
  lk_byte_means step = *means;
  converted of;
  step.loops = lk_integer_loops_get(lk_isa_get());
  LK_RETURN_NOT_OK(add_pair(planner, layout, &of, step.is_signed, step.has_zero, error));
  return lk_planner_kernel(planner, lk_byte_means_kernel, "pool", &step, sizeof step, of.operands,
                           of.n, error);
}
