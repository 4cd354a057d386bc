/* Element-wise functions of one tensor: Relu, Sigmoid, HardSigmoid, HardSwish, Swish, Sqrt. */
#include <inttypes.h>
#include <stdio.h>

#include "keys/key_build.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/post_op_steps.h"

typedef struct eltwise_params {
  lk_element_op op;
  float p, q;
} eltwise_params;

/* A number of the row; its fallback where no attribute has it. */
static float read_number(lk_attrs *attrs, const lk_op_number *number) {
  return number->attr != NULL ? lk_attrs_float(attrs, number->attr, number->fallback)
                              : number->fallback;
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

#define ELTWISE_ROW(name, domain_text, first, summary_text, ...)                                   \
  LK_OP_ROW(name, domain_text, first, summary_text,                                                \
            .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = 1, .max_inputs = 1,      \
            .max_outputs = 1, .input_types = "T", .output_types = "T", .types = {LK_TYPES_F32},    \
            .in_place_inputs = 1, .fusion = {__VA_ARGS__}),                                        \
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
    .element_op = LK_ELEMENT_SQRT,
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
