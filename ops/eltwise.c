/* Element-wise functions of one tensor: Relu, Sigmoid, HardSigmoid, HardSwish, Swish, Sqrt. */
#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"

typedef struct eltwise_params {
  dnnl_alg_kind_t algorithm;
  float alpha, beta;
} eltwise_params;

static void parse_relu(lk_attrs *attrs, void *params) {
  (void)attrs;
  *(eltwise_params *)params = (eltwise_params){dnnl_eltwise_relu, 0, 0};
}

static void parse_sigmoid(lk_attrs *attrs, void *params) {
  (void)attrs;
  *(eltwise_params *)params = (eltwise_params){dnnl_eltwise_logistic, 0, 0};
}

static void parse_sqrt(lk_attrs *attrs, void *params) {
  (void)attrs;
  *(eltwise_params *)params = (eltwise_params){dnnl_eltwise_sqrt, 0, 0};
}

static void parse_hard_sigmoid(lk_attrs *attrs, void *params) {
  *(eltwise_params *)params =
      (eltwise_params){dnnl_eltwise_hardsigmoid, lk_attrs_float(attrs, "alpha", 0.2F),
                       lk_attrs_float(attrs, "beta", 0.5F)};
}

static void parse_hard_swish(lk_attrs *attrs, void *params) {
  (void)attrs;
  *(eltwise_params *)params = (eltwise_params){dnnl_eltwise_hardswish, 1.0F / 6.0F, 0.5F};
}

static void parse_swish(lk_attrs *attrs, void *params) {
  *(eltwise_params *)params =
      (eltwise_params){dnnl_eltwise_swish, lk_attrs_float(attrs, "alpha", 1.0F), 0};
}

static void in_place_text(const lk_op_node *node, char *buffer, size_t capacity) {
  const eltwise_params *self = node->params;
  (void)snprintf(buffer, capacity, "%s:%08" PRIx64 ":%08" PRIx64, node->class_->op_type,
                 (uint64_t)lk_float_bits(self->alpha), (uint64_t)lk_float_bits(self->beta));
}

static lk_status infer_float(const lk_op_node *node, const lk_tensor *inputs,
                             lk_tensor_desc *outputs, lk_error *error) {
  (void)node, (void)error;
  outputs[0] = lk_tensor_desc_make(LK_F32, inputs[0].desc.rank, inputs[0].desc.dims);
  return LK_OK;
}

static lk_status plan_eltwise(lk_planner *planner, lk_error *error) {
  const eltwise_params *self = lk_planner_node(planner)->params;
  return lk_plan_eltwise(planner, self->algorithm, self->alpha, self->beta, error);
}

#define ELTWISE_ROW(text, summary_text, domain_text, first, parse_fn)                              \
  {                                                                                                \
    .op_type = text, .domain = domain_text, .summary = summary_text, .min_opset = first,           \
    .max_opset = 23, .min_inputs = 1, .max_inputs = 1, .max_outputs = 1, .in_place_inputs = 1,     \
    .types = {LK_TYPES_F32}, .runs_on_onednn = true, .post_ops = true,                             \
    .params_size = sizeof(eltwise_params), .parse = parse_fn, .in_place_text = in_place_text,      \
    .infer = infer_float, .plan = plan_eltwise                                                     \
  }

const lk_op_class lk_op_relu = ELTWISE_ROW("Relu", "max(x, 0)", "", 1, parse_relu);
const lk_op_class lk_op_sigmoid = ELTWISE_ROW("Sigmoid", "1 / (1 + exp(-x))", "", 1, parse_sigmoid);
const lk_op_class lk_op_sqrt = ELTWISE_ROW("Sqrt", "Square root", "", 1, parse_sqrt);
const lk_op_class lk_op_hard_sigmoid =
    ELTWISE_ROW("HardSigmoid", "clip(alpha x + beta, 0, 1)", "", 1, parse_hard_sigmoid);
const lk_op_class lk_op_hard_swish =
    ELTWISE_ROW("HardSwish", "x clip(x / 6 + 1/2, 0, 1)", "", 14, parse_hard_swish);
const lk_op_class lk_op_swish =
    ELTWISE_ROW("Swish", "x sigmoid(alpha x); made by fusion", "latchkey", 1, parse_swish);
