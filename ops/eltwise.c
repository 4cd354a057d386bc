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

/* What the operator is as a post-op it is by itself too; others name their algorithm. */
static void parse_eltwise(lk_attrs *attrs, void *params) {
  eltwise_params *self = params;
  const lk_op_fusion *fusion = &attrs->class_->row.fusion;
  const lk_post_op post_op = {.kind = fusion->kind,
                              .alpha = lk_attrs_number(attrs, &fusion->alpha),
                              .beta = lk_attrs_number(attrs, &fusion->beta)};
  self->algorithm = lk_post_op_eltwise(&post_op, &self->alpha, &self->beta);
  if (attrs->class_->algorithm != 0) {
    self->algorithm = (dnnl_alg_kind_t)attrs->class_->algorithm;
  }
}

static void in_place_text(const lk_op_node *node, char *buffer, size_t capacity) {
  const eltwise_params *self = node->params;
  (void)snprintf(buffer, capacity, "%s:%08" PRIx64 ":%08" PRIx64, node->class_->row.op_type,
                 (uint64_t)lk_float_bits(self->alpha), (uint64_t)lk_float_bits(self->beta));
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

#define ELTWISE_ROW(name, domain_text, first, summary_text, ...)                                   \
  LK_OP_ROW(.op_type = name, .domain = domain_text, .summary = summary_text, .since = first,       \
            .flags = LK_OP_ON_ONEDNN | LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = 1,     \
            .max_inputs = 1, .max_outputs = 1, .input_types = "T", .output_types = "T",            \
            .types = {LK_TYPES_F32}, .in_place_inputs = 1, .fusion = {__VA_ARGS__}),               \
      .params_size = sizeof(eltwise_params), .parse = parse_eltwise,                               \
      .in_place_text = in_place_text, .infer = lk_infer_same, .plan = plan_eltwise

const lk_op_class lk_op_relu = {
    ELTWISE_ROW("Relu", "", 1, "max(x, 0)", .kind = LK_POST_RELU),
};
const lk_op_class lk_op_sigmoid = {
    ELTWISE_ROW("Sigmoid", "", 1, "1 / (1 + exp(-x))", .kind = LK_POST_SIGMOID),
};
const lk_op_class lk_op_sqrt = {
    ELTWISE_ROW("Sqrt", "", 1, "Square root", .kind = 0),
    .algorithm = dnnl_eltwise_sqrt,
};
const lk_op_class lk_op_hard_sigmoid = {
    ELTWISE_ROW("HardSigmoid", "", 1, "clip(alpha x + beta, 0, 1)", .kind = LK_POST_HARDSIGMOID,
                .alpha = {.attr = "alpha", .fallback = 0.2F},
                .beta = {.attr = "beta", .fallback = 0.5F}),
};
const lk_op_class lk_op_hard_swish = {
    ELTWISE_ROW("HardSwish", "", 14, "x clip(x / 6 + 1/2, 0, 1)", .kind = LK_POST_HARDSWISH),
};
const lk_op_class lk_op_swish = {
    ELTWISE_ROW("Swish", "latchkey", 1, "x sigmoid(alpha x); made by fusion", .kind = LK_POST_SWISH,
                .alpha = {.attr = "alpha", .fallback = 1.0F}),
};
