/* Element-wise functions of one tensor: a row for each. */
#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "keys/key_build.h"
#include "ops/plan/work.h"

typedef struct eltwise_params {
  uint32_t function; /* lk_post_op_kind or lk_function */
  float alpha, beta;
} eltwise_params;

static float read_number(lk_attrs *attrs, const lk_op_number *number) {
  return number->attr != NULL ? lk_attrs_float(attrs, number->attr) : number->fallback;
}

/* What the operator is as a post-op it is by itself too; others name their function. */
static void parse_eltwise(lk_attrs *attrs, void *params) {
  eltwise_params *self = params;
  const lk_op_fusion *fusion = &attrs->class_->row.fusion;
  self->function = fusion->kind != 0 ? fusion->kind : attrs->class_->function;
  self->alpha = read_number(attrs, &fusion->alpha);
  self->beta = read_number(attrs, &fusion->beta);
  /* with an alpha of 0, minus infinity is NaN */
  const bool has_slope = fusion->kind == LK_POST_RELU && fusion->alpha.attr != NULL;
  if (has_slope) self->function = LK_FUNCTION_LEAKY_RELU;
}

static void in_place_text(const lk_op_node *node, char *buffer, size_t capacity) {
  const eltwise_params *self = node->params;
  (void)snprintf(buffer, capacity, "%s:%08" PRIx32 ":%08" PRIx32, node->class_->row.op_type,
                 lk_key_float(self->alpha), lk_key_float(self->beta));
}

static lk_status plan_eltwise(lk_planner *planner, lk_error *error) {
  const eltwise_params *self = planner->node->params;
  return lk_plan_function(planner, self->function, self->alpha, self->beta, error);
}

#define FLAGS (LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS)
/* FLOATS and so on stand for two arguments. */
#define ROW(...) ROW_OF(__VA_ARGS__)
#define ROW_OF(name, domain_text, first, summary_text, type_set, row_flags, ...)                   \
  LK_OP_ROW(name, domain_text, first, summary_text, .flags = row_flags, .min_inputs = 1,           \
            .max_inputs = 1, .max_outputs = 1, .input_types = "T", .output_types = "T",            \
            .types = {type_set}, .in_place_inputs = 1, .fusion = {__VA_ARGS__}),                   \
      .params_size = sizeof(eltwise_params), .in_place_text = in_place_text,                       \
      .infer = lk_infer_same, .resize = lk_resize_elements

/* A function of its own; behind its types and flags, the numbers that it has. */
#define FUNCTION(symbol, ...) const lk_op_class lk_op_##symbol = {FUNCTION_OF(__VA_ARGS__)}
#define FUNCTION_OF(...) FUNCTION_ROW(__VA_ARGS__)
#define FUNCTION_ROW(name, first, summary_text, of, ...)                                           \
  ROW(name, "", first, summary_text, __VA_ARGS__), .function = of, .parse = parse_eltwise,         \
                                                   .plan = plan_eltwise
/* A post-op, which passes fuse into the operator before it where that is f32. */
#define POST_OP(symbol, ...) const lk_op_class lk_op_##symbol = {POST_OP_OF(__VA_ARGS__)}
#define POST_OP_OF(...) ROW(__VA_ARGS__), .parse = parse_eltwise, .plan = plan_eltwise
#define FLOATS LK_TYPES_FLOAT, FLAGS
#define SIGNED LK_TYPES_FLOAT | LK_TYPES_SIGNED, FLAGS
#define NUMBERS LK_TYPES_NUMBER, FLAGS
#define ALPHA .alpha = {.attr = "alpha"}

FUNCTION(abs, "Abs", 6, "|x|", LK_FUNCTION_ABS, NUMBERS);
FUNCTION(acos, "Acos", 7, "Arc cosine", LK_FUNCTION_ACOS, FLOATS);
FUNCTION(acosh, "Acosh", 9, "Inverse hyperbolic cosine", LK_FUNCTION_ACOSH, FLOATS);
FUNCTION(asin, "Asin", 7, "Arc sine", LK_FUNCTION_ASIN, FLOATS);
FUNCTION(asinh, "Asinh", 9, "Inverse hyperbolic sine", LK_FUNCTION_ASINH, FLOATS);
FUNCTION(atan, "Atan", 7, "Arc tangent", LK_FUNCTION_ATAN, FLOATS);
FUNCTION(atanh, "Atanh", 9, "Inverse hyperbolic tangent", LK_FUNCTION_ATANH, FLOATS);
FUNCTION(bitwise_not, "BitwiseNot", 18, "All bits turned over", LK_FUNCTION_BIT_NOT,
         LK_TYPES_INTEGER, 0);
FUNCTION(ceil, "Ceil", 6, "Rounded up", LK_FUNCTION_CEIL, FLOATS);
FUNCTION(cos, "Cos", 7, "Cosine", LK_FUNCTION_COS, FLOATS);
FUNCTION(cosh, "Cosh", 9, "Hyperbolic cosine", LK_FUNCTION_COSH, FLOATS);
const lk_op_class lk_op_elu = {
    FUNCTION_OF("Elu", 6, "x < 0 ? alpha (e^x - 1) : x", LK_FUNCTION_ELU, FLOATS, ALPHA,
                .beta = {.fallback = 1}),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1)),
};
FUNCTION(erf, "Erf", 9, "Error function", LK_FUNCTION_ERF, FLOATS);
FUNCTION(exp, "Exp", 6, "e^x", LK_FUNCTION_EXP, FLOATS);
FUNCTION(floor, "Floor", 6, "Rounded down", LK_FUNCTION_FLOOR, FLOATS);
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
FUNCTION(log, "Log", 6, "Natural logarithm", LK_FUNCTION_LOG, FLOATS);
POST_OP(mish, "Mish", "", 18, "x tanh(log(1 + e^x))", FLOATS, .kind = LK_POST_MISH);
FUNCTION(neg, "Neg", 6, "-x", LK_FUNCTION_NEG, SIGNED);
FUNCTION(not, "Not", 1, "Logical not", LK_FUNCTION_NOT, LK_TYPE(LK_BOOL), 0);
FUNCTION(reciprocal, "Reciprocal", 6, "1 / x", LK_FUNCTION_RECIPROCAL, FLOATS);
POST_OP(relu, "Relu", "", 1, "max(x, 0)", SIGNED, .kind = LK_POST_RELU);
FUNCTION(round, "Round", 11, "To the nearest whole number, ties to even", LK_FUNCTION_ROUND,
         FLOATS);
POST_OP(sigmoid, "Sigmoid", "", 1, "1 / (1 + e^-x)", FLOATS, .kind = LK_POST_SIGMOID);
FUNCTION(sign, "Sign", 9, "-1, 0 or 1", LK_FUNCTION_SIGN, NUMBERS);
FUNCTION(sin, "Sin", 7, "Sine", LK_FUNCTION_SIN, FLOATS);
FUNCTION(sinh, "Sinh", 9, "Hyperbolic sine", LK_FUNCTION_SINH, FLOATS);
FUNCTION(softplus, "Softplus", 1, "log(1 + e^x)", LK_FUNCTION_SOFTPLUS, FLOATS);
FUNCTION(softsign, "Softsign", 1, "x / (1 + |x|)", LK_FUNCTION_SOFTSIGN, FLOATS);
FUNCTION(sqrt, "Sqrt", 1, "Square root", LK_FUNCTION_SQRT, FLOATS);
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
FUNCTION(tan, "Tan", 7, "Tangent", LK_FUNCTION_TAN, FLOATS);
POST_OP(tanh, "Tanh", "", 6, "Hyperbolic tangent", FLOATS, .kind = LK_POST_TANH);
const lk_op_class lk_op_thresholded_relu = {
    FUNCTION_OF("ThresholdedRelu", 10, "x > alpha ? x : 0", LK_FUNCTION_THRESHOLD, FLOATS, ALPHA),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1)),
};

/* ---- more than one number or function ---- */

const lk_op_class lk_op_celu = {
    FUNCTION_OF("Celu", 12, "x < 0 ? alpha (e^(x / alpha) - 1) : x", LK_FUNCTION_CELU, FLOATS,
                ALPHA),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1)),
};
const lk_op_class lk_op_shrink = {
    FUNCTION_OF("Shrink", 9, "x < -lambd ? x + bias : x > lambd ? x - bias : 0", LK_FUNCTION_SHRINK,
                NUMBERS, .alpha = {.attr = "lambd"}, .beta = {.attr = "bias"}),
    LK_OP_ATTRS(LK_FLOAT("bias", 0), LK_FLOAT("lambd", 0.5F)),
};

static lk_status plan_selu(lk_planner *planner, lk_error *error) {
  const eltwise_params *self = planner->node->params;
  lk_task task;
  lk_task_elements(&task, planner, 0);
  (void)lk_task_apply(&task, LK_FUNCTION_ELU, self->alpha, 1);
  (void)lk_task_apply(&task, LK_POST_LINEAR, self->beta, 0);
  return lk_plan_task(planner, &task, error);
}
const lk_op_class lk_op_selu = {
    ROW("Selu", "", 6, "gamma (x < 0 ? alpha (e^x - 1) : x)", FLOATS, ALPHA,
        .beta = {.attr = "gamma"}),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1.67326319F), LK_FLOAT("gamma", 1.05070102F)),
    .parse = parse_eltwise,
    .plan = plan_selu,
};

/* ---- tests, whose result is bool ---- */

/* IsNaN counts no sign. */
static void parse_is_inf(lk_attrs *attrs, void *params) {
  eltwise_params *self = params;
  self->function = attrs->class_->function;
  if (self->function != LK_FUNCTION_IS_INF) return;
  self->alpha = lk_attrs_bool(attrs, "detect_negative") ? 1 : 0;
  self->beta = lk_attrs_bool(attrs, "detect_positive") ? 1 : 0;
}
#define TEST_ROW(name, first, summary_text, of)                                                    \
  LK_OP_ROW(name, "", first, summary_text, .min_inputs = 1, .max_inputs = 1, .max_outputs = 1,     \
            .input_types = "T", .output_types = "U", .types = {LK_TYPES_FLOAT, LK_TYPE(LK_BOOL)}), \
      .params_size = sizeof(eltwise_params), .function = of, .parse = parse_is_inf,                \
      .infer = lk_infer_same, .plan = plan_eltwise
const lk_op_class lk_op_is_inf = {
    TEST_ROW("IsInf", 10, "Whether it is an infinity", LK_FUNCTION_IS_INF),
    LK_OP_ATTRS(LK_FLAG("detect_negative", 1), LK_FLAG("detect_positive", 1)),
};
const lk_op_class lk_op_is_nan = {TEST_ROW("IsNaN", 9, "Whether it is NaN", LK_FUNCTION_IS_NAN)};
