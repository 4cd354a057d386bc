/* Element-wise functions of one tensor: a row for each. */
#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "keys/key_build.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/post_op_steps.h"

typedef struct eltwise_params {
  lk_element_op op;
  float p, q;
} eltwise_params;

static float read_number(lk_attrs *attrs, const lk_op_number *number) {
  return number->attr != NULL ? lk_attrs_float(attrs, number->attr) : number->fallback;
}

/* What the operator is as a post-op it is by itself too; others name their step. */
static void parse_eltwise(lk_attrs *attrs, void *params) {
  eltwise_params *self = params;
  const lk_op_fusion *fusion = &attrs->class_->row.fusion;
  const lk_post_op post_op = {.kind = fusion->kind,
                              .alpha = read_number(attrs, &fusion->alpha),
                              .beta = read_number(attrs, &fusion->beta)};
  self->op = lk_post_op_step(&post_op, &self->p, &self->q);
  if (fusion->kind == 0) self->op = (lk_element_op)attrs->class_->element_op;
  /* with an alpha of 0, minus infinity is NaN */
  const bool has_slope = fusion->kind == LK_POST_RELU && fusion->alpha.attr != NULL;
  if (has_slope) self->op = LK_ELEMENT_LEAKY_RELU;
}

static void in_place_text(const lk_op_node *node, char *buffer, size_t capacity) {
  const eltwise_params *self = node->params;
  (void)snprintf(buffer, capacity, "%s:%08" PRIx32 ":%08" PRIx32, node->class_->row.op_type,
                 lk_key_float(self->p), lk_key_float(self->q));
}

static lk_status plan_eltwise(lk_planner *planner, lk_error *error) {
  const eltwise_params *self = planner->node->params;
  return lk_plan_eltwise(planner, self->op, self->p, self->q, error);
}

#define FLAGS (LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS)
/* FLOATS and so on stand for two arguments. */
#define ROW(...) ROW_OF(__VA_ARGS__)
#define ROW_OF(name, domain_text, first, summary_text, type_set, row_flags, ...)                   \
  LK_OP_ROW(name, domain_text, first, summary_text, .flags = row_flags, .min_inputs = 1,           \
            .max_inputs = 1, .max_outputs = 1, .input_types = "T", .output_types = "T",            \
            .types = {type_set}, .in_place_inputs = 1, .fusion = {__VA_ARGS__}),                   \
      .params_size = sizeof(eltwise_params), .in_place_text = in_place_text,                       \
      .infer = lk_infer_same, .resize = lk_chain_resize

/* A step of element programs; behind its types and flags, the numbers that it has. */
#define STEP(symbol, ...) const lk_op_class lk_op_##symbol = {STEP_OF(__VA_ARGS__)}
#define STEP_OF(...) STEP_ROW(__VA_ARGS__)
#define STEP_ROW(name, first, summary_text, step, ...)                                             \
  ROW(name, "", first, summary_text, __VA_ARGS__), .element_op = step, .parse = parse_eltwise,     \
                                                   .plan = plan_eltwise
/* A post-op, which passes fuse into the operator before it where that is f32. */
#define POST_OP(symbol, ...) const lk_op_class lk_op_##symbol = {POST_OP_OF(__VA_ARGS__)}
#define POST_OP_OF(...) ROW(__VA_ARGS__), .parse = parse_eltwise, .plan = plan_eltwise
#define FLOATS LK_TYPES_FLOAT, FLAGS
#define SIGNED LK_TYPES_FLOAT | LK_TYPES_SIGNED, FLAGS
#define NUMBERS LK_TYPES_NUMBER, FLAGS
#define ALPHA .alpha = {.attr = "alpha"}

STEP(abs, "Abs", 6, "|x|", LK_ELEMENT_ABS, NUMBERS);
STEP(acos, "Acos", 7, "Arc cosine", LK_ELEMENT_ACOS, FLOATS);
STEP(acosh, "Acosh", 9, "Inverse hyperbolic cosine", LK_ELEMENT_ACOSH, FLOATS);
STEP(asin, "Asin", 7, "Arc sine", LK_ELEMENT_ASIN, FLOATS);
STEP(asinh, "Asinh", 9, "Inverse hyperbolic sine", LK_ELEMENT_ASINH, FLOATS);
STEP(atan, "Atan", 7, "Arc tangent", LK_ELEMENT_ATAN, FLOATS);
STEP(atanh, "Atanh", 9, "Inverse hyperbolic tangent", LK_ELEMENT_ATANH, FLOATS);
STEP(bitwise_not, "BitwiseNot", 18, "All bits turned over", LK_ELEMENT_BIT_NOT, LK_TYPES_INTEGER,
     0);
STEP(ceil, "Ceil", 6, "Rounded up", LK_ELEMENT_CEIL, FLOATS);
STEP(cos, "Cos", 7, "Cosine", LK_ELEMENT_COS, FLOATS);
STEP(cosh, "Cosh", 9, "Hyperbolic cosine", LK_ELEMENT_COSH, FLOATS);
const lk_op_class lk_op_elu = {
    STEP_OF("Elu", 6, "x < 0 ? alpha (e^x - 1) : x", LK_ELEMENT_ELU, FLOATS, ALPHA,
            .beta = {.fallback = 1}),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1)),
};
STEP(erf, "Erf", 9, "Error function", LK_ELEMENT_ERF, FLOATS);
STEP(exp, "Exp", 6, "e^x", LK_ELEMENT_EXP, FLOATS);
STEP(floor, "Floor", 6, "Rounded down", LK_ELEMENT_FLOOR, FLOATS);
POST_OP(gelu_fused, "Gelu", "latchkey", 1, "Gelu(x); made by fusion", FLOATS, .kind = LK_POST_GELU);
POST_OP(gelu_tanh_fused, "GeluTanh", "latchkey", 1, "Gelu(x), by tanh; made by fusion", FLOATS,
        .kind = LK_POST_GELU_TANH);
const lk_op_class lk_op_hard_sigmoid = {
    POST_OP_OF("HardSigmoid", "", 1, "clip(alpha x + beta, 0, 1)", FLOATS,
               .kind = LK_POST_HARDSIGMOID, ALPHA, .beta = {.attr = "beta"}),
    LK_OP_ATTRS(LK_FLOAT("alpha", 0.2F), LK_FLOAT("beta", 0.5F)),
};
POST_OP(hard_swish, "HardSwish", "", 14, "x clip(x / 6 + 1/2, 0, 1)", FLOATS,
        .kind = LK_POST_HARDSWISH);
const lk_op_class lk_op_leaky_relu = {
    POST_OP_OF("LeakyRelu", "", 6, "x < 0 ? alpha x : x", FLOATS, .kind = LK_POST_RELU, ALPHA),
    LK_OP_ATTRS(LK_FLOAT("alpha", 0.01F)),
};
STEP(log, "Log", 6, "Natural logarithm", LK_ELEMENT_LOG, FLOATS);
POST_OP(mish, "Mish", "", 18, "x tanh(log(1 + e^x))", FLOATS, .kind = LK_POST_MISH);
STEP(neg, "Neg", 6, "-x", LK_ELEMENT_NEG, SIGNED);
STEP(not, "Not", 1, "Logical not", LK_ELEMENT_NOT, LK_TYPE(LK_BOOL), 0);
STEP(reciprocal, "Reciprocal", 6, "1 / x", LK_ELEMENT_RECIPROCAL, FLOATS);
POST_OP(relu, "Relu", "", 1, "max(x, 0)", SIGNED, .kind = LK_POST_RELU);
STEP(round, "Round", 11, "To the nearest whole number, ties to even", LK_ELEMENT_ROUND, FLOATS);
POST_OP(sigmoid, "Sigmoid", "", 1, "1 / (1 + e^-x)", FLOATS, .kind = LK_POST_SIGMOID);
STEP(sign, "Sign", 9, "-1, 0 or 1", LK_ELEMENT_SIGN, NUMBERS);
STEP(sin, "Sin", 7, "Sine", LK_ELEMENT_SIN, FLOATS);
STEP(sinh, "Sinh", 9, "Hyperbolic sine", LK_ELEMENT_SINH, FLOATS);
STEP(softplus, "Softplus", 1, "log(1 + e^x)", LK_ELEMENT_SOFTPLUS, FLOATS);
STEP(softsign, "Softsign", 1, "x / (1 + |x|)", LK_ELEMENT_SOFTSIGN, FLOATS);
STEP(sqrt, "Sqrt", 1, "Square root", LK_ELEMENT_SQRT, FLOATS);
const lk_op_class lk_op_swish = {
    POST_OP_OF("Swish", "", 24, "x sigmoid(alpha x)", FLOATS, .kind = LK_POST_SWISH, ALPHA),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1)),
};
const lk_op_class lk_op_swish_fused = {
    POST_OP_OF("Swish", "latchkey", 1, "x sigmoid(alpha x); made by fusion", FLOATS,
               .kind = LK_POST_SWISH, ALPHA),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1)),
};
const lk_op_class lk_op_quick_gelu = {
    POST_OP_OF("QuickGelu", "com.microsoft", 1, "x sigmoid(alpha x)", FLOATS, .kind = LK_POST_SWISH,
               ALPHA),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1.702F)),
};
STEP(tan, "Tan", 7, "Tangent", LK_ELEMENT_TAN, FLOATS);
POST_OP(tanh, "Tanh", "", 6, "Hyperbolic tangent", FLOATS, .kind = LK_POST_TANH);
const lk_op_class lk_op_thresholded_relu = {
    STEP_OF("ThresholdedRelu", 10, "x > alpha ? x : 0", LK_ELEMENT_THRESHOLD, FLOATS, ALPHA),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1)),
};

/* ---- more than one step ---- */

/* alpha elu(x / alpha) of what is negative: divided as the type is, not by way of a reciprocal.
 * What is positive stays as it is, which x / alpha * alpha would round. */
static lk_status plan_celu(lk_planner *planner, lk_error *error) {
  const eltwise_params *self = planner->node->params;
  const uint32_t dtype = planner->outputs[0].dtype;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  const lk_element_value alpha = lk_element_number(&chain.program, dtype, (double)self->p);
  const lk_element_value x = chain.value, zero = lk_element_number(&chain.program, dtype, 0);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_DIV, x, alpha);
  lk_chain_unary(&chain, LK_ELEMENT_ELU, 1, 1);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_MUL, chain.value, alpha);
  chain.value = lk_element_ternary(&chain.program, LK_ELEMENT_WHERE,
                                   lk_element_binary(&chain.program, LK_ELEMENT_LESS, x, zero),
                                   chain.value, x);
  return lk_chain_end(&chain, error);
}
const lk_op_class lk_op_celu = {
    ROW("Celu", "", 12, "x < 0 ? alpha (e^(x / alpha) - 1) : x", FLOATS, ALPHA),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1)),
    .parse = parse_eltwise,
    .plan = plan_celu,
};

static lk_status plan_selu(lk_planner *planner, lk_error *error) {
  const eltwise_params *self = planner->node->params;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  lk_chain_unary(&chain, LK_ELEMENT_ELU, self->p, 1);
  lk_chain_unary(&chain, LK_ELEMENT_LINEAR, self->q, 0);
  return lk_chain_end(&chain, error);
}
const lk_op_class lk_op_selu = {
    ROW("Selu", "", 6, "gamma (x < 0 ? alpha (e^x - 1) : x)", FLOATS, ALPHA,
        .beta = {.attr = "gamma"}),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1.67326319F), LK_FLOAT("gamma", 1.05070102F)),
    .parse = parse_eltwise,
    .plan = plan_selu,
};

/* Integers have integers for lambd and bias, and the function that ONNX gives. */
static lk_status plan_shrink(lk_planner *planner, lk_error *error) {
  const eltwise_params *self = planner->node->params;
  const uint32_t dtype = planner->outputs[0].dtype;
  if ((LK_TYPE(dtype) & LK_TYPES_FLOAT) != 0) return plan_eltwise(planner, error);
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  lk_element_program *program = &chain.program;
  const lk_element_value x = chain.value;
  const int64_t limit = (int64_t)self->p;
  const lk_element_value low = lk_element_integer(program, dtype, dtype == LK_U64 ? 0 : -limit);
  const lk_element_value high = lk_element_integer(program, dtype, limit);
  const lk_element_value bias = lk_element_integer(program, dtype, (int64_t)self->q);
  const lk_element_value zero = lk_element_integer(program, dtype, 0);
  const lk_element_value over = lk_element_ternary(
      program, LK_ELEMENT_WHERE, lk_element_binary(program, LK_ELEMENT_LESS, high, x),
      lk_element_binary(program, LK_ELEMENT_SUB, x, bias), zero);
  chain.value = lk_element_ternary(program, LK_ELEMENT_WHERE,
                                   lk_element_binary(program, LK_ELEMENT_LESS, x, low),
                                   lk_element_binary(program, LK_ELEMENT_ADD, x, bias), over);
  return lk_chain_end(&chain, error);
}
const lk_op_class lk_op_shrink = {
    ROW("Shrink", "", 9, "x < -lambd ? x + bias : x > lambd ? x - bias : 0", NUMBERS,
        .alpha = {.attr = "lambd"}, .beta = {.attr = "bias"}),
    LK_OP_ATTRS(LK_FLOAT("bias", 0), LK_FLOAT("lambd", 0.5F)),
    .element_op = LK_ELEMENT_SHRINK,
    .parse = parse_eltwise,
    .plan = plan_shrink,
};

/* ---- tests, whose result is bool ---- */

/* IsNaN counts no sign. */
static void parse_is_inf(lk_attrs *attrs, void *params) {
  eltwise_params *self = params;
  self->op = (lk_element_op)attrs->class_->element_op;
  if (self->op != LK_ELEMENT_IS_INF) return;
  self->p = lk_attrs_bool(attrs, "detect_negative") ? 1 : 0;
  self->q = lk_attrs_bool(attrs, "detect_positive") ? 1 : 0;
}
#define TEST_ROW(name, first, summary_text, step)                                                  \
  LK_OP_ROW(name, "", first, summary_text, .min_inputs = 1, .max_inputs = 1, .max_outputs = 1,     \
            .input_types = "T", .output_types = "U", .types = {LK_TYPES_FLOAT, LK_TYPE(LK_BOOL)}), \
      .params_size = sizeof(eltwise_params), .element_op = step, .parse = parse_is_inf,            \
      .infer = lk_infer_same, .plan = plan_eltwise
const lk_op_class lk_op_is_inf = {
    TEST_ROW("IsInf", 10, "Whether it is an infinity", LK_ELEMENT_IS_INF),
    LK_OP_ATTRS(LK_FLAG("detect_negative", 1), LK_FLAG("detect_positive", 1)),
};
const lk_op_class lk_op_is_nan = {TEST_ROW("IsNaN", 9, "Whether it is NaN", LK_ELEMENT_IS_NAN)};
