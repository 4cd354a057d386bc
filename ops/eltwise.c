/* Element-wise functions of one tensor: Relu, Sigmoid, HardSigmoid, HardSwish, Swish, Sqrt. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/eltwise.h"
#include "ops/plan/post_ops.h"

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

/* A post-op as a step of its own, in place. */
static lk_status apply_post_op(lk_planner *planner, const lk_post_op *post_op, const lk_operand *to,
                               lk_error *error) {
  if (post_op->input < 0) {
    float alpha = 0, beta = 0;
    const dnnl_alg_kind_t algorithm = lk_post_op_eltwise(post_op, &alpha, &beta);
    return lk_plan_eltwise_step(planner, algorithm, alpha, beta, to, to, error);
  }
  const uint32_t input = (uint32_t)post_op->input;
  const bool same_rank = lk_planner_input_tensor(planner, input)->desc.rank == to->desc.rank;
  lk_operand operand;
  lk_status status = lk_planner_input(planner, input, same_rank ? to->desc.layout : LK_LAYOUT_PLAIN,
                                      &operand, error);
  if (status != LK_OK) return status;
  return lk_plan_binary_step(planner, lk_post_op_binary(post_op->kind), to, &operand, to, false,
                             error);
}

lk_status lk_plan_post_ops(lk_planner *planner, const lk_operand *to, lk_error *error) {
  const lk_op_node *node = lk_planner_node(planner);
  lk_status status = LK_OK;
  for (uint32_t i = 0; i < node->n_post_ops && status == LK_OK; i++) {
    status = apply_post_op(planner, &node->post_ops[i], to, error);
  }
  return status;
}

lk_status lk_plan_eltwise_step(lk_planner *planner, dnnl_alg_kind_t algorithm, float alpha,
                               float beta, const lk_operand *from, const lk_operand *to,
                               lk_error *error) {
  lk_key_builder key;
  const lk_primitive *primitive = NULL;
  lk_planner_key_begin(planner, &key, LK_PRIMITIVE_ELTWISE);
  const int64_t values[] = {(int64_t)algorithm, lk_float_bits(alpha), lk_float_bits(beta)};
  lk_key_add_tensor(&key, LK_WORD_SRC, 0, &from->desc, 0);
  lk_key_add_tensor(&key, LK_WORD_DST, 0, &to->desc, 0);
  lk_key_add_attr(&key, LK_WORD_ALGORITHM, &values[0], 1);
  lk_key_add_attr(&key, LK_WORD_ALPHA, &values[1], 1);
  lk_key_add_attr(&key, LK_WORD_BETA, &values[2], 1);
  lk_status status = lk_planner_primitive(planner, &key, &primitive, error);
  if (status != LK_OK) return status;
  const lk_primitive_arg args[] = {{DNNL_ARG_SRC, *from}, {DNNL_ARG_DST, *to}};
  return lk_planner_execute(planner, primitive, args, 2, NULL, error);
}

lk_status lk_plan_eltwise(lk_planner *planner, dnnl_alg_kind_t algorithm, float alpha, float beta,
                          lk_error *error) {
  lk_status status = LK_OK;
  lk_operand src, dst;
  const lk_layout layout =
      lk_planner_wish(planner, 0, lk_planner_input_tensor(planner, 0)->desc.layout);
  LK_TRY(lk_planner_input(planner, 0, layout, &src, error));
  LK_TRY(lk_planner_output(planner, 0, layout, &dst, error));
  LK_TRY(lk_plan_eltwise_step(planner, algorithm, alpha, beta, &src, &dst, error));
  /* steps of their own: with post-ops, oneDNN's element-wise primitive is a reference implementation */
  LK_TRY(lk_plan_post_ops(planner, &dst, error));
cleanup:
  return status;
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
