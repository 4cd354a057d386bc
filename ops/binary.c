/* Arithmetic of two tensors with broadcasting: Add, Sub, Mul, Div, Mod, Pow (ONNX operators of
 * these names), as element programs. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/cast.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/post_op_steps.h"

/* Add, Sub, Mul, Div. */
static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_post_op post_op = {.kind = planner->node->class_->row.fusion.kind};
  float p = 0, q = 0;
  return lk_plan_binary(planner, lk_post_op_step(&post_op, &p, &q), 0, 1, error);
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

/* Whole numbers of two types, by way of 64 bits: results wrap around, so that their low bits are
 * right for every type. */
static lk_element_value power_of_integers(lk_element_program *program, lk_element_value x,
                                          uint32_t x_dtype, lk_element_value y, uint32_t y_dtype) {
  const uint32_t wide = y_dtype == LK_U64 ? LK_U64 : LK_I64;
  lk_element_value base = lk_element_cast(program, x, wide);
  const lk_element_value exponent = lk_element_cast(program, y, wide);
  if (x_dtype == LK_U64 && wide == LK_I64) {
    /* what looks negative here is large, and 1 over a power of it is 0, like that of 2 */
    const lk_element_value zero = lk_element_integer(program, wide, 0);
    const lk_element_value two = lk_element_integer(program, wide, 2);
    const lk_element_value is_large = lk_element_binary(program, LK_ELEMENT_LESS, base, zero);
    const lk_element_value divides = lk_element_binary(program, LK_ELEMENT_LESS, exponent, zero);
    const lk_element_value both = lk_element_binary(program, LK_ELEMENT_AND, is_large, divides);
    base = lk_element_ternary(program, LK_ELEMENT_WHERE, both, two, base);
  }
  return lk_element_binary(program, LK_ELEMENT_POW, base, exponent);
}

static lk_element_value power(lk_element_program *program, lk_element_value x, uint32_t x_dtype,
                              lk_element_value y, uint32_t y_dtype) {
  if (x_dtype == y_dtype) return lk_element_binary(program, LK_ELEMENT_POW, x, y);
  if (is_integer(x_dtype) && is_integer(y_dtype)) {
    const lk_element_value whole = power_of_integers(program, x, x_dtype, y, y_dtype);
    return lk_element_cast(program, whole, x_dtype);
  }
  const lk_element_value real =
      lk_element_binary(program, LK_ELEMENT_POW, lk_element_cast(program, x, LK_F64),
                        lk_element_cast(program, y, LK_F64));
  /* Integers are the low bits of wide ones; but what no i32 holds is its least value, as ONNX
   * Runtime and ONNX's reference have it. */
  const bool is_narrow = is_integer(x_dtype) && x_dtype != LK_U64 && x_dtype != LK_I32;
  const lk_element_value wide = is_narrow ? lk_element_cast(program, real, LK_I64) : real;
  return lk_element_cast(program, wide, x_dtype);
}

static lk_status plan_pow(lk_planner *planner, lk_error *error) {
  const uint32_t x_dtype = planner->inputs[0].desc.dtype, y_dtype = planner->inputs[1].desc.dtype;
  lk_chain chain;
  lk_element_value y;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  if (has_exponent(planner->node, 2)) {
    lk_chain_unary(&chain, LK_ELEMENT_SQUARE, 0, 0);
  } else if (has_exponent(planner->node, 3)) {
    const lk_element_value x = chain.value;
    lk_chain_unary(&chain, LK_ELEMENT_SQUARE, 0, 0);
    chain.value = lk_element_binary(&chain.program, LK_ELEMENT_MUL, chain.value, x);
  } else {
    LK_RETURN_NOT_OK(lk_chain_input(&chain, 1, &y, error));
    chain.value = power(&chain.program, chain.value, x_dtype, y, y_dtype);
  }
  return lk_chain_end(&chain, error);
}

/* ---- Mod ---- */

enum { REALS_WITHOUT_FMOD_SINCE = 28 };

static void parse_mod(lk_attrs *attrs, void *params) {
  const bool is_fmod = lk_attrs_bool(attrs, "fmod");
  *(lk_element_op *)params = is_fmod ? LK_ELEMENT_FMOD : LK_ELEMENT_MOD;
}
static lk_status infer_mod(lk_inference *self, lk_error *error) {
  const uint32_t dtype = self->inputs[0].desc.dtype;
  const bool is_mod = *(const lk_element_op *)self->node->params == LK_ELEMENT_MOD;
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
  return lk_plan_binary(planner, *(const lk_element_op *)planner->node->params, 0, 1, error);
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
      .infer = lk_infer_broadcast, .plan = plan, .resize = lk_chain_resize

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
    .resize = lk_chain_resize,
};

const lk_op_class lk_op_mod = {
    LK_OP_ROW("Mod", "", 10, "Rest of a / b, with the sign of b or, with fmod, of a",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 2, .max_inputs = 2, .max_outputs = 1,
              .input_types = "T", .output_types = "T", .types = {LK_TYPES_NUMBER},
              .in_place_inputs = 3),
    .params_size = sizeof(lk_element_op),
    LK_OP_ATTRS(LK_FLAG("fmod", 0)),
    .parse = parse_mod,
    .infer = infer_mod,
    .plan = plan_mod,
    .resize = lk_chain_resize,
};
