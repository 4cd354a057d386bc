/* Gelu, its approximations and what has a bias before it, of ONNX and com.microsoft; SwiGLU. */
#include "base/status.h"
#include "ops/plan/eltwise_steps.h"

/* ---- Gelu ---- */

typedef struct gelu_params {
  lk_element_op op;
} gelu_params;

static void parse_gelu(lk_attrs *attrs, void *params) {
  static const char *const names[] = {"none", "tanh"};
  const bool is_tanh = attrs->class_->element_op == LK_ELEMENT_GELU_TANH ||
                       lk_attrs_choice(attrs, "approximate", names, 2, 0) == 1;
  ((gelu_params *)params)->op = is_tanh ? LK_ELEMENT_GELU_TANH : LK_ELEMENT_GELU;
}

/* Of x, plus the bias where there is one. */
static lk_status plan_gelu(lk_planner *planner, lk_error *error) {
  const gelu_params *self = planner->node->params;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  if (lk_op_has(planner->node, 1)) {
    LK_RETURN_NOT_OK(lk_chain_binary(&chain, LK_ELEMENT_ADD, 1, error));
  }
  lk_chain_unary(&chain, self->op, 0, 0);
  return lk_chain_end(&chain, error);
}

#define GELU(symbol, name, domain_text, first, summary_text, step, least, most)                    \
  const lk_op_class lk_op_##symbol = {                                                             \
      LK_OP_ROW(name, domain_text, first, summary_text,                                            \
                .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = least,               \
                .max_inputs = most, .max_outputs = 1, .input_types = "T", .output_types = "T",     \
                .types = {LK_TYPES_FLOAT}, .in_place_inputs = 1),                                  \
      .params_size = sizeof(gelu_params),                                                          \
      .element_op = step,                                                                          \
      .parse = parse_gelu,                                                                         \
      .infer = lk_infer_broadcast_to_first,                                                        \
      .plan = plan_gelu}
GELU(gelu, "Gelu", "", 20, "x times the normal distribution function", LK_ELEMENT_GELU, 1, 1);
GELU(gelu_microsoft, "Gelu", "com.microsoft", 1, "Gelu(x)", LK_ELEMENT_GELU, 1, 1);
GELU(bias_gelu, "BiasGelu", "com.microsoft", 1, "Gelu(x + bias)", LK_ELEMENT_GELU, 2, 2);
GELU(fast_gelu, "FastGelu", "com.microsoft", 1, "Gelu(x + bias), by tanh", LK_ELEMENT_GELU_TANH, 1,
     2);

/* ---- SwiGLU ---- */

static void parse_swiglu(lk_attrs *attrs, void *params) {
  *(float *)params = lk_attrs_float(attrs, "alpha", 1);
}

/* a sigmoid(alpha a) b, of inputs of one shape. */
static lk_status plan_swiglu(lk_planner *planner, lk_error *error) {
  const float *alpha = planner->node->params;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  lk_chain_unary(&chain, LK_ELEMENT_SWISH, *alpha, 0);
  LK_RETURN_NOT_OK(lk_chain_binary(&chain, LK_ELEMENT_MUL, 1, error));
  return lk_chain_end(&chain, error);
}
const lk_op_class lk_op_swiglu = {
    LK_OP_ROW("SwiGLU", "", 28, "a sigmoid(alpha a) b",
              .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = 2, .max_inputs = 2,
              .max_outputs = 1, .input_types = "T", .output_types = "T", .types = {LK_TYPES_FLOAT},
              .in_place_inputs = 3),
    .params_size = sizeof(float),
    .parse = parse_swiglu,
    .infer = lk_infer_broadcast_to_first,
    .plan = plan_swiglu,
};
