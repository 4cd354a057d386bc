/* CausalConvWithState (ai.onnx, opset 27 on). */
#include "ops/kernel/sequence/causal_conv.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"

enum { INPUT, WEIGHT, BIAS, PAST }; /* inputs */
enum { OUTPUT, STATE };

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[INPUT].desc, *w = &self->inputs[WEIGHT].desc;
  LK_RETURN_NOT_OK(lk_infer_same(self, error));
  if (lk_rank_is_known(x) && x->rank != 3) {
    return lk_refuse(x, "the input", "[batch][channels][length]", error);
  }
  if (!lk_rank_is_known(x) || !lk_rank_is_known(w)) return LK_OK;
  if (w->rank != 3 || lk_dims_differ(w->dims[0], x->dims[1]) || lk_dims_differ(w->dims[1], 1) ||
      w->dims[2] == 0) {
    return lk_refuse(w, "the weights", "[channels][1][taps]", error);
  }
  int64_t past = LK_DIM_UNKNOWN;
  if (w->dims[2] > 0) past = w->dims[2] - 1;
  const int64_t dims[] = {x->dims[0], x->dims[1], past};
  const lk_tensor_desc state = lk_tensor_desc_make(self->outputs[0].dtype, 3, dims);
  const lk_tensor_desc channels = lk_tensor_desc_make(state.dtype, 1, &x->dims[1]);
  if (lk_op_has(self->node, PAST) && !lk_shape_may_equal(&self->inputs[PAST].desc, &state)) {
    return lk_refuse(&self->inputs[PAST].desc, "past_state", "[batch][channels][taps - 1]", error);
  }
  if (lk_op_has(self->node, BIAS) && !lk_shape_may_equal(&self->inputs[BIAS].desc, &channels)) {
    return lk_refuse(&self->inputs[BIAS].desc, "the bias", "one number for each channel", error);
  }
  if (self->node->n_outputs > STATE) self->outputs[STATE] = state;
  return LK_OK;
}

/* ---- steps ---- */

/* y = y sigmoid(y), where the attribute says so. */
static lk_status activate(lk_planner *planner, const lk_operand *y, lk_error *error) {
  lk_chain chain;
  if (!*(const bool *)planner->node->params) return LK_OK;
  lk_chain_begin_at(planner, y, &chain);
  chain.value = lk_chain_operand(&chain, y);
  lk_chain_unary(&chain, LK_ELEMENT_SWISH, 1, 0);
  return lk_chain_step(&chain, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[INPUT].desc, *w = &planner->inputs[WEIGHT].desc;
  const lk_causal_conv step = {.lines = x->dims[0] * x->dims[1],
                               .channels = x->dims[1],
                               .length = x->dims[2],
                               .taps = w->dims[2],
                               .has_bias = lk_op_has(planner->node, BIAS),
                               .has_past = lk_op_has(planner->node, PAST)};
  const int64_t dims[] = {x->dims[0], x->dims[1], step.taps - 1};
  const lk_tensor_desc state = lk_tensor_desc_make(LK_F32, 3, dims);
  lk_operand operands[6];
  uint32_t n = 0;
  LK_RETURN_NOT_OK(lk_planner_append_input(planner, INPUT, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_append_input(planner, WEIGHT, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, OUTPUT, LK_LAYOUT_PLAIN, &operands[n++], error));
  LK_RETURN_NOT_OK(lk_planner_output_or_temp(planner, STATE, &state, &operands[n++], error));
  LK_RETURN_NOT_OK(lk_planner_append_input(planner, BIAS, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_append_input(planner, PAST, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_causal_conv_kernel, "causal_convolution", &step,
                                     sizeof step, operands, n, error));
  lk_planner_flops(planner, 2 * (double)lk_elements(x) * (double)step.taps);
  return activate(planner, &operands[2], error);
}

const lk_op_class lk_op_causal_conv_with_state = {
    LK_OP_ROW("CausalConvWithState", "", 27, "Depthwise convolution of the past, kept as a state",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 2, .max_inputs = 4, .max_outputs = 2,
              .input_types = "TTTT", .output_types = "TT", .types = {LK_TYPES_BY_F32}),
    .by_f32 = true,
    LK_OP_ATTRS(LK_CHOICE("activation", "none|silu|swish")),
    LK_OP_PARAM(bool, "activation"),
    .infer = infer,
    .plan = plan,
};
