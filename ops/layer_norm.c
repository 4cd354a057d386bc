/* Norms over the last dimensions: LayerNormalization, RMSNormalization (ONNX), and what ONNX
 * Runtime fuses: SimplifiedLayerNormalization; SkipLayerNormalization and
 * SkipSimplifiedLayerNormalization (com.microsoft), which normalize the sum of two inputs. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/norm_steps.h"
#include "ops/plan/reduction.h"

enum { NONE = -1 };

/* What tells the operators apart: which inputs and outputs they have. */
typedef struct layer_norm_form {
  bool is_centered, has_skip;
  int8_t scale, bias, added;   /* inputs; `added`: to input and skip */
  int8_t mean, deviation, sum; /* outputs */
} layer_norm_form;

static const layer_norm_form layer_form = {true, false, 1, 2, NONE, 1, 2, NONE};
static const layer_norm_form rms_form = {false, false, 1, NONE, NONE, NONE, 1, NONE};
static const layer_norm_form skip_form = {true, true, 2, 3, 4, 1, 2, 3};
static const layer_norm_form skip_rms_form = {false, true, 2, NONE, 3, 1, 2, 3};

typedef struct layer_norm_params {
  const layer_norm_form *form;
  int64_t axis;
  float epsilon;
} layer_norm_params;

static void parse(lk_attrs *attrs, void *params, const layer_norm_form *form) {
  layer_norm_params *self = params;
  self->form = form;
  self->axis = lk_attrs_lists(attrs, "axis") ? lk_attrs_int(attrs, "axis") : -1;
  self->epsilon = lk_attrs_float(attrs, "epsilon");
}
static void parse_layer(lk_attrs *attrs, void *params) {
  parse(attrs, params, &layer_form);
}
static void parse_rms(lk_attrs *attrs, void *params) {
  parse(attrs, params, &rms_form);
}
static void parse_skip(lk_attrs *attrs, void *params) {
  parse(attrs, params, &skip_form);
}
static void parse_skip_rms(lk_attrs *attrs, void *params) {
  parse(attrs, params, &skip_rms_form);
}

/* An input of the operator's, which must broadcast to input 0. */
static lk_status check_broadcast(lk_inference *self, int32_t input, const char *name,
                                 lk_error *error) {
  lk_tensor_desc together = {0};
  if (input == NONE || !lk_op_has(self->node, (uint32_t)input)) return LK_OK;
  const lk_tensor_desc *x = &self->inputs[0].desc, *other = &self->inputs[input].desc;
  if (!lk_shape_is_known(x) || !lk_shape_is_known(other)) return LK_OK;
  if (lk_broadcast_dims(NULL, x, other, &together, NULL) == LK_OK && lk_shape_equal(&together, x)) {
    return LK_OK;
  }
  char text[LK_TENSOR_TEXT_CAPACITY], x_text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT, "the %s is %s, it must broadcast to the input, %s",
                 name, lk_tensor_text(other, text), lk_tensor_text(x, x_text));
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const layer_norm_params *params = self->node->params;
  const layer_norm_form *form = params->form;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  LK_RETURN_NOT_OK(lk_infer_same(self, error));
  LK_RETURN_NOT_OK(check_broadcast(self, form->has_skip ? 1 : NONE, "skip", error));
  LK_RETURN_NOT_OK(check_broadcast(self, form->scale, "scale", error));
  LK_RETURN_NOT_OK(check_broadcast(self, form->bias, "bias", error));
  LK_RETURN_NOT_OK(check_broadcast(self, form->added, "bias of the input", error));
  if (!lk_rank_is_known(x)) return LK_OK;
  uint32_t axis = 0;
  LK_RETURN_NOT_OK(lk_attr_axis(params->axis, x, &axis, error));
  for (uint32_t i = 1; i < self->node->n_outputs; i++) {
    lk_shape_of_input(self, i, 0);
    for (uint32_t d = axis; (int32_t)i != form->sum && d < x->rank; d++) {
      self->outputs[i].dims[d] = 1;
    }
  }
  return LK_OK;
}

/* Input + skip + bias, as output `sum` or in a temporary. */
static lk_status plan_sum(lk_planner *planner, const layer_norm_form *form, lk_operand *out,
                          lk_error *error) {
  const lk_op_node *node = planner->node;
  const uint32_t sum = (uint32_t)form->sum;
  lk_tensor_desc plain = planner->inputs[0].desc;
  lk_chain chain;
  plain.layout = LK_LAYOUT_PLAIN;
  LK_RETURN_NOT_OK(lk_planner_output_or_temp(planner, sum, &plain, out, error));
  lk_chain_begin_at(planner, out, &chain);
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  LK_RETURN_NOT_OK(lk_chain_binary(&chain, LK_ELEMENT_ADD, 1, error));
  if (form->added != NONE && lk_op_has(node, (uint32_t)form->added)) {
    LK_RETURN_NOT_OK(lk_chain_binary(&chain, LK_ELEMENT_ADD, (uint32_t)form->added, error));
  }
  return lk_chain_step(&chain, error);
}

/* A scale or bias that has a value for each element of a row: it goes into the norm's own step. */
static bool is_row(const lk_planner *planner, int32_t input, int64_t n) {
  return input == NONE || !lk_op_has(planner->node, (uint32_t)input) ||
         lk_elements(&planner->inputs[input].desc) == n;
}

/* The step of a chain, whose value is scaled and shifted. */
static lk_status end_scaled(lk_chain *chain, const layer_norm_form *form, lk_error *error) {
  LK_RETURN_NOT_OK(lk_chain_binary(chain, LK_ELEMENT_MUL, (uint32_t)form->scale, error));
  if (form->bias != NONE && lk_op_has(chain->planner->node, (uint32_t)form->bias)) {
    LK_RETURN_NOT_OK(lk_chain_binary(chain, LK_ELEMENT_ADD, (uint32_t)form->bias, error));
  }
  return lk_chain_step(chain, error);
}

/* Scale and bias as a step of their own. */
static lk_status plan_scale(lk_planner *planner, const layer_norm_form *form, const lk_operand *to,
                            lk_error *error) {
  lk_chain chain;
  lk_chain_begin_at(planner, to, &chain);
  chain.value = lk_chain_operand(&chain, to);
  return end_scaled(&chain, form, error);
}

/* ---- f64: reductions and element-wise steps ---- */

/* Output `index`, if the operator and the node have it, is `value`, rounded. */
static lk_status write_statistic(lk_planner *planner, int32_t index, const lk_operand *value,
                                 lk_error *error) {
  lk_operand to;
  if (index == NONE || (uint32_t)index >= planner->node->n_outputs) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_output(planner, (uint32_t)index, LK_LAYOUT_PLAIN, &to, error));
  return lk_planner_cast(planner, value, &to, error);
}

/* `inout_x` less its mean, in a temporary. */
static lk_status plan_centered(lk_planner *planner, const layer_norm_form *form,
                               const lk_operand *mean, uint32_t mask, double n, lk_operand *inout_x,
                               lk_error *error) {
  const lk_reduction average = {LK_REDUCE_SUM, .divisor = n};
  lk_operand centered;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, inout_x, mean, mask, &average, error));
  LK_RETURN_NOT_OK(write_statistic(planner, form->mean, mean, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &inout_x->desc, &centered, error));
  lk_chain_begin_at(planner, &centered, &chain);
  chain.value = lk_chain_operand(&chain, inout_x);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_SUB, chain.value,
                                  lk_chain_operand(&chain, mean));
  *inout_x = centered;
  return lk_chain_step(&chain, error);
}

/* 1 over the deviation. */
static lk_status plan_factor(lk_planner *planner, const layer_norm_params *params,
                             const lk_operand *variance, const lk_operand *to, lk_error *error) {
  lk_chain chain;
  lk_chain_begin_at(planner, to, &chain);
  chain.value = lk_chain_operand(&chain, variance);
  lk_chain_unary(&chain, LK_ELEMENT_LINEAR, 1, params->epsilon);
  lk_chain_unary(&chain, LK_ELEMENT_SQRT, 0, 0);
  lk_chain_unary(&chain, LK_ELEMENT_RECIPROCAL, 0, 0);
  LK_RETURN_NOT_OK(lk_chain_step(&chain, error));
  return write_statistic(planner, params->form->deviation, to, error);
}

static lk_status plan_f64(lk_planner *planner, lk_error *error) {
  const layer_norm_params *params = planner->node->params;
  const layer_norm_form *form = params->form;
  lk_operand x, y, variance, factor;
  lk_chain chain;
  LK_RETURN_NOT_OK(form->has_skip ? plan_sum(planner, form, &x, error)
                                  : lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &x, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &y, error));
  const uint32_t axis = (uint32_t)lk_axis(params->axis, x.desc.rank);
  uint32_t mask = 0;
  lk_tensor_desc rows = x.desc;
  for (uint32_t i = axis; i < rows.rank; i++) {
    mask |= 1U << i;
    rows.dims[i] = 1;
  }
  const double n = (double)lk_elements(&x.desc) / (double)lk_elements(&rows);
  const lk_reduction spread = {LK_REDUCE_SQUARES, .divisor = n};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &rows, &variance, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &rows, &factor, error));
  if (form->is_centered) {
    LK_RETURN_NOT_OK(plan_centered(planner, form, &factor, mask, n, &x, error));
  }
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &x, &variance, mask, &spread, error));
  LK_RETURN_NOT_OK(plan_factor(planner, params, &variance, &factor, error));
  lk_chain_begin_at(planner, &y, &chain);
  chain.value = lk_chain_operand(&chain, &x);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_MUL, chain.value,
                                  lk_chain_operand(&chain, &factor));
  return end_scaled(&chain, form, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  if (planner->inputs[0].desc.dtype == LK_F64) return plan_f64(planner, error);
  const layer_norm_params *params = planner->node->params;
  const layer_norm_form *form = params->form;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const int64_t axis = lk_axis(params->axis, x->rank);
  lk_operand operands[6]; /* from, to, scale, bias, mean, deviation */
  uint32_t n = 2;
  lk_norm step = {.rows = 1,
                  .n = 1,
                  .inner = 1,
                  .period = 1,
                  .epsilon = (double)params->epsilon,
                  .is_centered = form->is_centered};
  for (uint32_t i = 0; i < x->rank; i++) *(i < axis ? &step.rows : &step.n) *= x->dims[i];
  const bool scales = is_row(planner, form->scale, step.n) && is_row(planner, form->bias, step.n);
  LK_RETURN_NOT_OK(form->has_skip
                       ? plan_sum(planner, form, &operands[0], error)
                       : lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[1], error));
  const int32_t inputs[] = {form->scale, form->bias}, outputs[] = {form->mean, form->deviation};
  bool *const has_inputs[] = {&step.has_scale, &step.has_bias};
  bool *const has_outputs[] = {&step.has_mean, &step.has_deviation};
  for (int i = 0; i < 2; i++) {
    if (!scales || inputs[i] == NONE || !lk_op_has(planner->node, (uint32_t)inputs[i])) continue;
    LK_RETURN_NOT_OK(
        lk_planner_input(planner, (uint32_t)inputs[i], LK_LAYOUT_PLAIN, &operands[n++], error));
    *has_inputs[i] = true;
  }
  for (int i = 0; i < 2; i++) {
    if (outputs[i] == NONE || (uint32_t)outputs[i] >= planner->node->n_outputs) continue;
    LK_RETURN_NOT_OK(
        lk_planner_output(planner, (uint32_t)outputs[i], LK_LAYOUT_PLAIN, &operands[n++], error));
    *has_outputs[i] = true;
  }
  LK_RETURN_NOT_OK(lk_plan_norm(planner, &step, operands, n, error));
  return scales ? LK_OK : plan_scale(planner, form, &operands[1], error);
}

#define LAYER_ATTRS                                                                                \
  LK_INT("axis", -1), LK_FLOAT("epsilon", 1e-5F), LK_INT("stash_type", 1, .is_unused = 1)
#define LAYER_ROW(name, domain_text, first, summary_text, inputs, most_inputs, outputs, letters,   \
                  reader)                                                                          \
  LK_OP_ROW(name, domain_text, first, summary_text, .flags = LK_OP_WORTH_CLAIMING,                 \
            .min_inputs = inputs, .max_inputs = most_inputs, .max_outputs = outputs,               \
            .input_types = "T", .output_types = letters,                                           \
            .types = {LK_TYPES_FLOAT, sizeof(letters) > 2 ? LK_TYPES_F32 : LK_TYPES_ANY}),         \
      .by_f32 = true, .params_size = sizeof(layer_norm_params), .parse = reader, .infer = infer,   \
      .plan = plan

const lk_op_class lk_op_layer_normalization = {
    LAYER_ROW("LayerNormalization", "", 17, "(x - mean) / deviation over the last dimensions", 2, 3,
              3, "TUU", parse_layer),
    LK_OP_ATTRS(LAYER_ATTRS),
};
const lk_op_class lk_op_rms_normalization = {
    LAYER_ROW("RMSNormalization", "", 23, "x / sqrt(mean of squares) over the last dimensions", 2,
              2, 1, "T", parse_rms),
    LK_OP_ATTRS(LAYER_ATTRS),
};
const lk_op_class lk_op_simplified_layer_normalization = {
    LAYER_ROW("SimplifiedLayerNormalization", "", 1, "RMSNormalization, as ONNX Runtime names it",
              2, 2, 2, "TU", parse_rms),
    LK_OP_ATTRS(LAYER_ATTRS),
};
const lk_op_class lk_op_skip_layer_normalization = {
    LAYER_ROW("SkipLayerNormalization", "com.microsoft", 1, "LayerNormalization of a sum", 3, 5, 4,
              "TUUT", parse_skip),
    LK_OP_ATTRS(LK_FLOAT("epsilon", 1e-12F)),
};
const lk_op_class lk_op_skip_simplified_layer_normalization = {
    LAYER_ROW("SkipSimplifiedLayerNormalization", "com.microsoft", 1, "RMSNormalization of a sum",
              3, 4, 4, "TUUT", parse_skip_rms),
    LK_OP_ATTRS(LK_FLOAT("epsilon", 1e-12F)),
};
