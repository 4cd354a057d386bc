/* Arithmetic of two tensors with broadcasting: Add, Sub, Mul, Div, Mod, Pow (ONNX operators of
 * these names). */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/cast.h"
#include "ops/plan/work.h"

/* Add, Sub, Mul, Div. */
static lk_status plan(lk_planner *planner, lk_error *error) {
  return lk_plan_binary(planner, planner->node->class_->row.fusion.kind, 0, 1, error);
}

/* ---- Pow: base and exponent may have different types; the result has the base's ---- */

/* Whether the exponent is the constant `number`. */
static bool has_exponent(const lk_op_node *node, int number) {
  const lk_tensor *exponent = &node->constants[1].tensor;
  if (node->constants[1].content == NULL || lk_elements(&exponent->desc) != 1) return false;
  double value = 0; /* no whole number is rounded to a small one */
  lk_cast_one(exponent->desc.dtype, exponent->data, LK_F64, &value);
  return value == (double)number;
}

static bool is_integer(uint32_t dtype) {
  return (LK_TYPE(dtype) & LK_TYPES_INTEGER) != 0;
}

static lk_status plan_pow(lk_planner *planner, lk_error *error) {
  const lk_op_node *node = planner->node;
  if (has_exponent(node, 2)) return lk_plan_function(planner, LK_FUNCTION_SQUARE, 0, 0, error);
  if (has_exponent(node, 3)) return lk_plan_function(planner, LK_FUNCTION_CUBE, 0, 0, error);
  return lk_plan_binary(planner, LK_FUNCTION_POW, 0, 1, error);
}

/* ---- Mod ---- */

enum { REALS_WITHOUT_FMOD_SINCE = 28 };

static void parse_mod(lk_attrs *attrs, void *params) {
  const bool is_fmod = lk_attrs_bool(attrs, "fmod");
  *(uint32_t *)params = is_fmod ? LK_FUNCTION_FMOD : LK_FUNCTION_MOD;
}
static lk_status infer_mod(lk_inference *self, lk_error *error) {
  const uint32_t dtype = self->inputs[0].desc.dtype;
  const bool is_mod = *(const uint32_t *)self->node->params == LK_FUNCTION_MOD;
  if (is_mod && self->node->opset < REALS_WITHOUT_FMOD_SINCE && dtype != LK_DTYPE_NONE &&
      !is_integer(dtype)) {
    return lk_fail(
        error, LK_INVALID_ARGUMENT,
        "input 0 is of type %s, which before opset %d needs the attribute 'fmod' to be 1",
        lk_dtype_name(dtype), REALS_WITHOUT_FMOD_SINCE);
  }
  return lk_infer_broadcast(self, error);
}
static lk_status plan_mod(lk_planner *planner, lk_error *error) {
  return lk_plan_binary(planner, *(const uint32_t *)planner->node->params, 0, 1, error);
}

/* ---- rows ---- */

static void multiply_text(const lk_op_node *node, char *buffer, size_t capacity) {
  (void)node;
  (void)snprintf(buffer, capacity, "M");
}

/* Fused into the operator before, with one number or with a tensor (LK_POST_ADD and so on). */
#define BINARY_ROW(name, summary_text, traits, post_op)                                            \
  LK_OP_ROW(name, "", 7, summary_text, .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS | (traits),  \
            .min_inputs = 2, .max_inputs = 2, .max_outputs = 1, .input_types = "T",                \
            .output_types = "T", .types = {LK_TYPES_NUMBER}, .in_place_inputs = 3,                 \
            .fusion = {.kind = (post_op)}),                                                        \
      .infer = lk_infer_broadcast, .plan = plan, .resize = lk_resize_elements

const lk_op_class lk_op_add = {
    BINARY_ROW("Add", "a + b with broadcasting", LK_OP_COMMUTATIVE, LK_POST_ADD),
};
const lk_op_class lk_op_sub = {
    BINARY_ROW("Sub", "a - b with broadcasting", 0, LK_POST_SUB),
};
const lk_op_class lk_op_mul = {
    BINARY_ROW("Mul", "a * b with broadcasting", LK_OP_COMMUTATIVE, LK_POST_MUL),
    .in_place_text = multiply_text,
};
const lk_op_class lk_op_div = {
    BINARY_ROW("Div", "a / b with broadcasting", 0, LK_POST_DIV),
};

const lk_op_class lk_op_pow = {
    LK_OP_ROW("Pow", "", 7, "a to the power of b, with broadcasting", .flags = LK_OP_WORTH_CLAIMING,
              .min_inputs = 2, .max_inputs = 2, .max_outputs = 1, .input_types = "TU",
              .output_types = "T", .types = {LK_TYPES_NUMBER, LK_TYPES_NUMBER},
              .in_place_inputs = 1),
    .infer = lk_infer_broadcast,
    .plan = plan_pow,
    .resize = lk_resize_elements,
};

const lk_op_class lk_op_mod = {
    LK_OP_ROW("Mod", "", 10, "Rest of a / b, with the sign of b or, with fmod, of a",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 2, .max_inputs = 2, .max_outputs = 1,
              .input_types = "T", .output_types = "T", .types = {LK_TYPES_NUMBER},
              .in_place_inputs = 3),
    .params_size = sizeof(uint32_t),
    LK_OP_ATTRS(LK_FLAG("fmod", 0)),
    .parse = parse_mod,
    .infer = infer_mod,
    .plan = plan_mod,
    .resize = lk_resize_elements,
};
