/* Functions of works as oneDNN has them. */
#include "ops/engine/onednn/functions.h"

static lk_onednn_function of_two(const lk_work_post_op *of) {
  /* one of two numbers would have to be an operand */
  if (of->operand == 0) return (lk_onednn_function){dnnl_alg_kind_undef, 0, 0};
  switch (of->kind) {
  case LK_POST_ADD:
    return (lk_onednn_function){dnnl_binary_add, 0, 0};
  case LK_POST_MUL:
    return (lk_onednn_function){dnnl_binary_mul, 0, 0};
  case LK_POST_SUB:
    return (lk_onednn_function){dnnl_binary_sub, 0, 0};
  case LK_POST_DIV:
    return (lk_onednn_function){dnnl_binary_div, 0, 0};
  default:
    return (lk_onednn_function){dnnl_alg_kind_undef, 0, 0};
  }
}

lk_onednn_function lk_onednn_function_of(const lk_work_post_op *of) {
  switch (of->kind) {
  case LK_POST_RELU:
  case LK_FUNCTION_LEAKY_RELU:
    return (lk_onednn_function){dnnl_eltwise_relu, of->alpha, 0};
  case LK_POST_CLIP:
    return (lk_onednn_function){dnnl_eltwise_clip, of->alpha, of->beta};
  case LK_POST_SIGMOID:
    return (lk_onednn_function){dnnl_eltwise_logistic, 0, 0};
  case LK_POST_HARDSIGMOID:
    return (lk_onednn_function){dnnl_eltwise_hardsigmoid, of->alpha, of->beta};
  case LK_POST_HARDSWISH:
    return (lk_onednn_function){dnnl_eltwise_hardswish, 1.0F / 6.0F, 0.5F};
  case LK_POST_SWISH:
    return (lk_onednn_function){dnnl_eltwise_swish, of->alpha, 0};
  case LK_POST_LINEAR:
    return (lk_onednn_function){dnnl_eltwise_linear, of->alpha, of->beta};
  case LK_POST_GELU:
    return (lk_onednn_function){dnnl_eltwise_gelu_erf, 0, 0};
  case LK_POST_GELU_TANH:
    return (lk_onednn_function){dnnl_eltwise_gelu_tanh, 0, 0};
  case LK_POST_TANH:
    return (lk_onednn_function){dnnl_eltwise_tanh, 0, 0};
  case LK_POST_MISH:
    return (lk_onednn_function){dnnl_eltwise_mish, 0, 0};
  case LK_FUNCTION_ABS:
    return (lk_onednn_function){dnnl_eltwise_abs, 0, 0};
  case LK_FUNCTION_SQRT:
    return (lk_onednn_function){dnnl_eltwise_sqrt, 0, 0};
  case LK_FUNCTION_SQUARE:
    return (lk_onednn_function){dnnl_eltwise_square, 0, 0};
  case LK_FUNCTION_ROUND:
    return (lk_onednn_function){dnnl_eltwise_round, 0, 0};
  case LK_FUNCTION_RECIPROCAL:
    return (lk_onednn_function){dnnl_eltwise_pow, 1, -1};
  default:
    return of_two(of);
  }
}

/* A product with a negative number takes the sign from 0, so Swish and LeakyRelu want a positive
 * alpha. So does PRelu want its slopes, of which oneDNN makes max(x, 0) + slope min(x, 0): of an
 * infinite one that is NaN for what is above 0. */
const char *lk_onednn_inexact(const lk_work *work, const lk_work_post_op *of) {
  static const char *const other =
      "oneDNN has no such function, or another one for special numbers";
  switch (of->kind) {
  case LK_POST_SIGMOID:
  case LK_POST_HARDSWISH:
  case LK_POST_GELU_TANH:
  case LK_POST_TANH:
  case LK_FUNCTION_ABS:
  case LK_FUNCTION_SQRT:
  case LK_FUNCTION_SQUARE:
  case LK_FUNCTION_ROUND:
  case LK_FUNCTION_RECIPROCAL:
    return NULL;
  case LK_POST_SWISH:
  case LK_FUNCTION_LEAKY_RELU:
    return of->alpha > 0 ? NULL : other;
  case LK_POST_RELU:
  case LK_POST_CLIP:
  case LK_POST_HARDSIGMOID:
  case LK_FUNCTION_MAX:
  case LK_FUNCTION_MIN:
    return "oneDNN makes a number of NaN";
  case LK_FUNCTION_PRELU:
    return of->operand != 0 && (work->positive >> of->operand & 1) != 0
               ? NULL
               : "slopes may be infinite, of which oneDNN makes NaN, or take the sign from 0";
  case LK_FUNCTION_EXP:
    return "oneDNN makes infinity of NaN";
  case LK_POST_GELU:
    return "oneDNN makes NaN of infinity";
  case LK_POST_MISH:
  case LK_FUNCTION_ELU:
  case LK_FUNCTION_SOFTPLUS:
  case LK_FUNCTION_LOG:
    return "oneDNN loses digits of small results";
  default:
    return of_two(of).kind != dnnl_alg_kind_undef ? NULL : other;
  }
}
