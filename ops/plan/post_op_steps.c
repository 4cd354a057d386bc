/* Post-ops as steps of element programs. */
#include "ops/plan/post_op_steps.h"

static lk_element_op op_of(const lk_post_op *post_op) {
  switch (post_op->kind) {
  case LK_POST_RELU:
    return post_op->alpha == 0.0F ? LK_ELEMENT_RELU : LK_ELEMENT_LEAKY_RELU;
  case LK_POST_CLIP:
    return LK_ELEMENT_CLIP;
  case LK_POST_SIGMOID:
    return LK_ELEMENT_SIGMOID;
  case LK_POST_HARDSIGMOID:
    return LK_ELEMENT_HARDSIGMOID;
  case LK_POST_HARDSWISH:
    return LK_ELEMENT_HARDSWISH;
  case LK_POST_SWISH:
    return LK_ELEMENT_SWISH;
  case LK_POST_ADD:
  case LK_POST_ADD_SCALED:
    return LK_ELEMENT_ADD;
  case LK_POST_MUL:
    return LK_ELEMENT_MUL;
  case LK_POST_SUB:
    return LK_ELEMENT_SUB;
  case LK_POST_DIV:
    return LK_ELEMENT_DIV;
  case LK_POST_GELU:
    return LK_ELEMENT_GELU;
  case LK_POST_GELU_TANH:
    return LK_ELEMENT_GELU_TANH;
  case LK_POST_TANH:
    return LK_ELEMENT_TANH;
  case LK_POST_MISH:
    return LK_ELEMENT_MISH;
  case LK_POST_QUOTIENT:
    return LK_ELEMENT_QUOTIENT;
  default:
    return LK_ELEMENT_LINEAR;
  }
}

lk_element_op lk_post_op_step(const lk_post_op *post_op, float *out_p, float *out_q) {
  /* ONNX HardSwish has no parameters */
  const bool is_fixed = post_op->kind == LK_POST_HARDSWISH;
  *out_p = is_fixed ? 1.0F / 6.0F : post_op->alpha;
  *out_q = is_fixed ? 0.5F : post_op->beta;
  return op_of(post_op);
}

lk_element_value lk_post_op_append(lk_element_program *program, const lk_post_op *post_op,
                                   lk_element_value value, lk_element_value operand) {
  float p = 0, q = 0;
  const lk_element_op op = lk_post_op_step(post_op, &p, &q);
  if (post_op->kind == LK_POST_ADD_SCALED) {
    operand = lk_element_unary(program, LK_ELEMENT_LINEAR, operand, post_op->alpha, -0.0F);
  }
  return post_op->input < 0 ? lk_element_unary(program, op, value, p, q)
                            : lk_element_binary(program, op, value, operand);
}
