/* Gelu, its approximations and what has a bias before it, of ONNX and com.microsoft; SwiGLU;
 * BiasAdd and BiasSplitGelu (com.microsoft). */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/work.h"

/* ---- Gelu ---- */

static void parse_gelu(lk_attrs *attrs, void *params) {
  uint32_t *function = params;
  *function = attrs->class_->function;
  if (!lk_attrs_lists(attrs, "approximate")) return;
  if (lk_attrs_choice(attrs, "approximate") == 1) *function = LK_POST_GELU_TANH;
}

/* Of x, plus the bias where there is one. */
static lk_status plan_gelu(lk_planner *planner, lk_error *error) {
  lk_task task;
  lk_task_elements(&task, planner, 0);
  if (lk_op_has(planner->node, 1)) lk_task_apply_input(&task, planner, LK_POST_ADD, 1);
  (void)lk_task_apply(&task, *(const uint32_t *)planner->node->params, 0, 0);
  return lk_plan_task(planner, &task, error);
}

#define GELU(name, domain_text, first, summary_text, of, least, most)                              \
  LK_OP_ROW(name, domain_text, first, summary_text,                                                \
            .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = least,                   \
            .max_inputs = most, .max_outputs = 1, .input_types = "T", .output_types = "T",         \
            .types = {LK_TYPES_FLOAT}, .in_place_inputs = 1),                                      \
      .params_size = sizeof(uint32_t), .function = of, .parse = parse_gelu,                        \
      .infer = lk_infer_broadcast_to_first, .plan = plan_gelu
const lk_op_class lk_op_gelu = {
    GELU("Gelu", "", 20, "x times the normal distribution function", LK_POST_GELU, 1, 1),
    LK_OP_ATTRS(LK_CHOICE("approximate", "none|tanh")),
};
const lk_op_class lk_op_gelu_microsoft = {
    GELU("Gelu", "com.microsoft", 1, "Gelu(x)", LK_POST_GELU, 1, 1)};
const lk_op_class lk_op_bias_gelu = {
    GELU("BiasGelu", "com.microsoft", 1, "Gelu(x + bias)", LK_POST_GELU, 2, 2)};
const lk_op_class lk_op_fast_gelu = {
    GELU("FastGelu", "com.microsoft", 1, "Gelu(x + bias), by tanh", LK_POST_GELU_TANH, 1, 2)};

/* ---- SwiGLU ---- */

/* a sigmoid(alpha a) b, of inputs of one shape. */
static lk_status plan_swiglu(lk_planner *planner, lk_error *error) {
  const float *alpha = planner->node->params;
  lk_task task;
  lk_task_elements(&task, planner, 0);
  (void)lk_task_apply(&task, LK_POST_SWISH, *alpha, 0);
  lk_task_apply_input(&task, planner, LK_POST_MUL, 1);
  return lk_plan_task(planner, &task, error);
}
const lk_op_class lk_op_swiglu = {
    LK_OP_ROW("SwiGLU", "", 28, "a sigmoid(alpha a) b",
              .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = 2, .max_inputs = 2,
              .max_outputs = 1, .input_types = "T", .output_types = "T", .types = {LK_TYPES_FLOAT},
              .in_place_inputs = 3),
    LK_OP_ATTRS(LK_FLOAT("alpha", 1)),
    LK_OP_PARAM(float, "alpha"),
    .infer = lk_infer_broadcast_to_first,
    .plan = plan_swiglu,
};

/* ---- BiasAdd ---- */

/* x + bias + skip */
static lk_status plan_bias_add(lk_planner *planner, lk_error *error) {
  lk_task task;
  lk_task_elements(&task, planner, 0);
  lk_task_apply_input(&task, planner, LK_POST_ADD, 1);
  lk_task_apply_input(&task, planner, LK_POST_ADD, 2);
  return lk_plan_task(planner, &task, error);
}
const lk_op_class lk_op_bias_add = {
    LK_OP_ROW("BiasAdd", "com.microsoft", 1, "x + bias + skip",
              .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = 3, .max_inputs = 3,
              .max_outputs = 1, .input_types = "T", .output_types = "T", .types = {LK_TYPES_FLOAT},
              .in_place_inputs = 5),
    .infer = lk_infer_broadcast_to_first,
    .plan = plan_bias_add,
};

/* ---- BiasSplitGelu: the halves of rows ---- */

static lk_status infer_halves(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[0].desc, *bias = &self->inputs[1].desc;
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank == 0) return lk_refuse(x, "the input", "of rank 1 or more", error);
  const int64_t row = x->dims[x->rank - 1];
  if (row >= 0 && row % 2 != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "rows have %" PRId64 " elements, an even number is required", row);
  }
  if (lk_rank_is_known(bias) && (bias->rank != 1 || lk_dims_differ(bias->dims[0], row))) {
    return lk_refuse(bias, "the bias", "of one value for each element of a row", error);
  }
  lk_shape_of_input(self, 0, 0);
  self->outputs[0].dims[x->rank - 1] = lk_dims_divide(self->dims, row, 2);
  return LK_OK;
}

/* One half of each row of input `index`, in a temporary. */
static lk_status take_half(lk_chain *chain, uint32_t index, uint32_t half, lk_element_value *out,
                           lk_error *error) {
  lk_planner *planner = chain->planner;
  lk_operand whole, part;
  LK_RETURN_NOT_OK(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, &whole, error));
  lk_tensor_desc desc = whole.desc;
  desc.dims[desc.rank - 1] /= 2;
  const int64_t bytes = desc.dims[desc.rank - 1] * (int64_t)lk_dtype_size(desc.dtype);
  const lk_copy copy = {.block = (size_t)bytes,
                        .from_offset = half * bytes,
                        .rank = 1,
                        .dims = {lk_count_dims(&desc, 0, desc.rank - 1)},
                        .from = {2 * bytes},
                        .to = {bytes}};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &part, error));
  *out = lk_chain_operand(chain, &part);
  return lk_planner_copy(planner, &copy, &whole, &part, error);
}

/* (x + bias) of the left half, times Gelu of that of the right half. */
static lk_status plan_split_gelu(lk_planner *planner, lk_error *error) {
  lk_operand to;
  lk_chain chain;
  lk_element_value halves[2], bias = 0;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  lk_chain_begin_at(planner, &to, &chain);
  for (uint32_t i = 0; i < 2; i++) {
    LK_RETURN_NOT_OK(take_half(&chain, 0, i, &halves[i], error));
    LK_RETURN_NOT_OK(take_half(&chain, 1, i, &bias, error));
    halves[i] = lk_element_binary(&chain.program, LK_ELEMENT_ADD, halves[i], bias);
  }
  const lk_element_value gelu = lk_element_unary(&chain.program, LK_ELEMENT_GELU, halves[1], 0, 0);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_MUL, halves[0], gelu);
  return lk_chain_end(&chain, error);
}
const lk_op_class lk_op_bias_split_gelu = {
    LK_OP_ROW("BiasSplitGelu", "com.microsoft", 1, "a Gelu(b), of the halves of x + bias",
              .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = 2, .max_inputs = 2,
              .max_outputs = 1, .input_types = "T", .output_types = "T", .types = {LK_TYPES_FLOAT}),
    .infer = infer_halves,
    .plan = plan_split_gelu,
};
