/* Add, Sub, Mul, Div, Pow, Sum with broadcasting (ONNX operators of these names). f32 runs on
 * oneDNN; other types, which are shape arithmetic, in element programs. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element.h"
#include "ops/kernel/power.h"
#include "ops/kernel/strides.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/post_ops.h"

/* Whether the operand, brought to the output's rank, can lie in `layout` without a broadcast. */
static bool fits_layout(const lk_tensor_desc *operand, const lk_tensor_desc *to, lk_layout layout) {
  const lk_tensor_desc padded = lk_shape_pad_rank(operand, to->rank);
  return operand->rank == to->rank || lk_layout_same_bytes(&padded, LK_LAYOUT_PLAIN, layout);
}

/* The layout to compute in: that of a full-shaped operand, where the other one can follow. */
static lk_layout binary_layout(const lk_tensor_desc *full, const lk_tensor_desc *other,
                               const lk_tensor_desc *to) {
  if (full->layout == LK_LAYOUT_CHANNELS_LAST && fits_layout(other, to, full->layout)) {
    return LK_LAYOUT_CHANNELS_LAST;
  }
  if (lk_shape_equal(other, to) && other->layout == LK_LAYOUT_CHANNELS_LAST) {
    return LK_LAYOUT_CHANNELS_LAST;
  }
  return LK_LAYOUT_PLAIN;
}

static lk_status plan_binary(lk_planner *planner, dnnl_alg_kind_t algorithm, bool commutative,
                             lk_error *error) {
  const lk_tensor_desc *to = &planner->body->outputs[0];
  const bool swaps = commutative && !lk_shape_equal(&planner->inputs[0].desc, to);
  const uint32_t first = swaps ? 1 : 0, second = 1 - first;
  const lk_tensor_desc *full = &planner->inputs[first].desc;
  const bool is_full = lk_shape_equal(full, to);
  const lk_layout layout =
      is_full ? binary_layout(full, &planner->inputs[second].desc, to) : LK_LAYOUT_PLAIN;
  lk_operand a, b, dst;
  LK_RETURN_NOT_OK(lk_plan_operand(planner, first, to->rank, layout, &a, error));
  LK_RETURN_NOT_OK(lk_plan_operand(planner, second, to->rank, layout, &b, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &dst, error));
  if (!is_full) LK_RETURN_NOT_OK(lk_plan_broadcast(planner, &a, &dst.desc, error));
  return lk_plan_binary_step(planner, algorithm, &a, &b, &dst, true, error);
}

static lk_status refuse_types(const lk_tensor_desc *a, const lk_tensor_desc *b, lk_error *error) {
  return lk_fail(error, LK_UNSUPPORTED,
                 "failed to compute on types %s and %s: integers or f64 are supported",
                 lk_dtype_name(a->dtype), lk_dtype_name(b->dtype));
}

/* A plan without oneDNN, for types that it does not compute on. */
static lk_status plan_element(lk_planner *planner, lk_element_op op, lk_error *error) {
  const lk_tensor_desc *a = &planner->inputs[0].desc, *b = &planner->inputs[1].desc;
  const lk_tensor_desc *to = &planner->body->outputs[0];
  lk_operand operands[3];
  lk_element_program program = lk_element_begin();
  const lk_element_value x = lk_element_input(&program, a->dtype);
  const lk_element_value y = lk_element_input(&program, b->dtype);
  if (a->dtype != b->dtype) return refuse_types(a, b, error);
  lk_element_output(&program, lk_element_binary(&program, op, x, y), to->dtype);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[2], error));
  lk_element_strides strides[3];
  lk_broadcast_strides(&operands[0].desc, to->rank, 1, strides[0].strides);
  lk_broadcast_strides(&operands[1].desc, to->rank, 1, strides[1].strides);
  lk_strides(to, 1, strides[2].strides);
  lk_element step;
  LK_RETURN_NOT_OK(lk_element_plan(&program, to->rank, to->dims, strides, &step, error));
  return lk_planner_kernel(planner, lk_element_kernel, "element", &step, step.size, operands, 3,
                           error);
}

/* Powers, whose exponents may have another type than their bases. */
static lk_status plan_power(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *a = &planner->inputs[0].desc;
  const lk_tensor_desc *b = &planner->inputs[1].desc;
  const lk_tensor_desc *to = &planner->body->outputs[0];
  lk_operand operands[3];
  if (!lk_power_is_supported(a->dtype, b->dtype)) return refuse_types(a, b, error);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[2], error));
  lk_power step = {.a_dtype = a->dtype, .b_dtype = b->dtype, .rank = to->rank};
  memcpy(step.dims, to->dims, sizeof step.dims);
  lk_broadcast_strides(&operands[0].desc, to->rank, 1, step.a);
  lk_broadcast_strides(&operands[1].desc, to->rank, 1, step.b);
  lk_power_simplify(&step);
  return lk_planner_kernel(planner, lk_power_kernel, "power", &step, sizeof step, operands, 3,
                           error);
}

static bool is_float(lk_planner *planner) {
  return planner->body->outputs[0].dtype == LK_F32;
}

/* Add, Sub, Mul, Div. */
static lk_status plan(lk_planner *planner, lk_error *error) {
  static const lk_element_op ops[] = {[LK_POST_ADD] = LK_ELEMENT_ADD,
                                      [LK_POST_SUB] = LK_ELEMENT_SUB,
                                      [LK_POST_MUL] = LK_ELEMENT_MUL,
                                      [LK_POST_DIV] = LK_ELEMENT_DIV};
  const lk_op_row *row = &planner->node->class_->row;
  if (!is_float(planner)) return plan_element(planner, ops[row->fusion.kind], error);
  return plan_binary(planner, lk_post_op_binary(row->fusion.kind),
                     (row->flags & LK_OP_COMMUTATIVE) != 0, error);
}

/* ---- Pow: base and exponent may have different types; the result has the base's ---- */

/* The exponent when it is one constant f32; post-ops do not matter here. */
static bool constant_exponent(const lk_op_node *node, float *out_exponent) {
  const lk_node_constant *constant = &node->constants[1];
  if (constant->content == NULL || constant->tensor.desc.dtype != LK_F32 ||
      lk_elements(&constant->tensor.desc) != 1) {
    return false;
  }
  memcpy(out_exponent, constant->tensor.data, sizeof *out_exponent);
  return true;
}

static lk_status plan_pow(lk_planner *planner, lk_error *error) {
  float exponent = 0;
  const bool same_shape = lk_shape_equal(&planner->inputs[0].desc, &planner->body->outputs[0]);
  if (is_float(planner) && same_shape && constant_exponent(planner->node, &exponent)) {
    if (exponent == 2.0F) return lk_plan_eltwise(planner, dnnl_eltwise_square, 0, 0, error);
    if (exponent == 0.5F) return lk_plan_eltwise(planner, dnnl_eltwise_sqrt, 0, 0, error);
    return lk_plan_eltwise(planner, dnnl_eltwise_pow, 1.0F, exponent, error);
  }
  return planner->inputs[0].desc.dtype == planner->inputs[1].desc.dtype
             ? plan_element(planner, LK_ELEMENT_POW, error)
             : plan_power(planner, error);
}

/* ---- Sum: any number of tensors, with broadcasting from opset 8 on ---- */

/* One after the other: ((a + b) + c) + ..., each a binary addition with broadcasting. */
static lk_status plan_sum(lk_planner *planner, lk_error *error) {
  const uint32_t count = planner->node->n_operands;
  if (count == 1) {
    return planner->node->n_post_ops > 0
               ? lk_plan_eltwise(planner, dnnl_eltwise_linear, 1.0F, 0, error)
               : lk_plan_same(planner, 0, error);
  }
  if (count == 2) return plan_binary(planner, dnnl_binary_add, true, error);
  const lk_tensor_desc *to = &planner->body->outputs[0];
  lk_layout layout = LK_LAYOUT_CHANNELS_LAST;
  for (uint32_t i = 0; i < count; i++) {
    const lk_tensor_desc *desc = &planner->inputs[i].desc;
    if (!lk_shape_equal(desc, to) || desc->layout != LK_LAYOUT_CHANNELS_LAST) {
      layout = LK_LAYOUT_PLAIN;
    }
  }
  lk_operand sum, next, dst;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &sum, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &dst, error));
  if (!lk_shape_equal(&sum.desc, to)) {
    LK_RETURN_NOT_OK(lk_plan_broadcast(planner, &sum, &dst.desc, error));
  }
  for (uint32_t i = 1; i < count; i++) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, i, layout, &next, error));
    LK_RETURN_NOT_OK(
        lk_plan_binary_step(planner, dnnl_binary_add, &sum, &next, &dst, i + 1 == count, error));
    sum = dst;
  }
  return LK_OK;
}

static void multiply_text(const lk_op_node *node, char *buffer, size_t capacity) {
  (void)node;
  (void)snprintf(buffer, capacity, "M");
}

/* Fused into the operator before, with one number or with a tensor (LK_POST_ADD and so on). */
#define BINARY_ROW(name, summary_text, traits, post_op)                                            \
  LK_OP_ROW(name, "", 7, summary_text, .flags = LK_OP_PRIMITIVE | LK_OP_POST_OPS | (traits),       \
            .min_inputs = 2, .max_inputs = 2, .max_outputs = 1, .input_types = "T",                \
            .output_types = "T", .types = {LK_TYPES_ARITHMETIC}, .in_place_inputs = 3,             \
            .fusion = {.kind = (post_op)}),                                                        \
      .infer = lk_infer_broadcast, .plan = plan

const lk_op_class lk_op_add = {
    BINARY_ROW("Add", "a + b with broadcasting; integers in C", LK_OP_COMMUTATIVE, LK_POST_ADD),
};
const lk_op_class lk_op_sub = {
    BINARY_ROW("Sub", "a - b with broadcasting; integers in C", 0, LK_POST_SUB),
};
const lk_op_class lk_op_mul = {
    BINARY_ROW("Mul", "a * b with broadcasting; integers in C", LK_OP_COMMUTATIVE, LK_POST_MUL),
    .in_place_text = multiply_text,
};
const lk_op_class lk_op_div = {
    BINARY_ROW("Div", "a / b with broadcasting; integers in C", 0, LK_POST_DIV),
};

const lk_op_class lk_op_pow = {
    LK_OP_ROW("Pow", "", 7, "a to the power of b; one constant f32 exponent on oneDNN, others in C",
              .flags = LK_OP_PRIMITIVE, .min_inputs = 2, .max_inputs = 2, .max_outputs = 1,
              .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_ARITHMETIC, LK_TYPES_ARITHMETIC}, .in_place_inputs = 1),
    .infer = lk_infer_broadcast,
    .plan = plan_pow,
};

const lk_op_class lk_op_sum = {
    LK_OP_ROW("Sum", "", 6, "Sum of any number of tensors with broadcasting",
              .flags = LK_OP_PRIMITIVE | LK_OP_POST_OPS | LK_OP_COMMUTATIVE, .min_inputs = 1,
              .max_inputs = 1024, .max_outputs = 1, .input_types = "T", .output_types = "T",
              .types = {LK_TYPES_F32}, .in_place_inputs = 3, .fusion = {.kind = LK_POST_ADD}),
    .infer = lk_infer_broadcast,
    .plan = plan_sum,
};
