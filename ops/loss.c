/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss (ONNX operators of these names). */
#include "ops/kernel/reduce/loss.h"

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/reduction.h"
#include "ops/plan/work.h"

enum { SCORES = 0, TARGETS = 1, WEIGHTS = 2 };
enum { LOG_PROB = 1 };               /* output */
enum { NLL = 0, CROSS_ENTROPY = 1 }; /* variants */
enum { AVERAGE, EACH, TOTAL };       /* reductions */

typedef struct loss_params {
  uint32_t reduction;
  bool has_ignored;
  int64_t ignored;
} loss_params;

static void parse(lk_attrs *attrs, void *params) {
  loss_params *self = params;
  self->reduction = lk_attrs_choice(attrs, "reduction");
  self->has_ignored = lk_attrs_has(attrs, "ignore_index");
  self->ignored = lk_attrs_int(attrs, "ignore_index");
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const loss_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[SCORES].desc, *targets = &self->inputs[TARGETS].desc;
  const lk_tensor_desc *weights = &self->inputs[WEIGHTS].desc;
  if (self->node->n_outputs > LOG_PROB) lk_shape_of_input(self, LOG_PROB, SCORES);
  if (params->reduction != EACH) lk_shape_open(&self->outputs[0], 0);
  if (!lk_rank_is_known(x)) {
    if (params->reduction == EACH) lk_shape_of_input(self, 0, TARGETS);
    return LK_OK;
  }
  if (x->rank < 2) return lk_refuse(x, "scores", "of rank 2 or more", error);
  lk_tensor_desc wanted = {.dtype = targets->dtype, .rank = x->rank - 1, .dims = {x->dims[0]}};
  for (uint32_t i = 2; i < x->rank; i++) wanted.dims[i - 1] = x->dims[i];
  if (!lk_shape_may_equal(targets, &wanted)) {
    return lk_refuse(targets, "targets", "as large as the scores without their classes", error);
  }
  const lk_tensor_desc classes = {.rank = 1, .dims = {x->dims[1]}};
  if (lk_op_has(self->node, WEIGHTS) && !lk_shape_may_equal(weights, &classes)) {
    return lk_refuse(weights, "weights", "one for each class", error);
  }
  if (params->reduction != EACH) return LK_OK;
  self->outputs[0].rank = wanted.rank;
  for (uint32_t i = 0; i < wanted.rank; i++) {
    const int64_t other = lk_rank_is_known(targets) ? targets->dims[i] : LK_DIM_UNKNOWN;
    self->outputs[0].dims[i] = lk_dims_either(wanted.dims[i], other);
  }
  return LK_OK;
}

/* The logarithm of Softmax along dimension 1, as output 1 where it is wanted. */
static lk_status plan_log_softmax(lk_planner *planner, lk_operand *x, lk_error *error) {
  const lk_operand from = *x;
  lk_task task;
  LK_RETURN_NOT_OK(lk_planner_output_or_temp(planner, LOG_PROB, &from.desc, x, error));
  if (lk_elements(&from.desc) == 0) return LK_OK;
  lk_task_begin(&task, LK_WORK_LOG_SOFTMAX);
  lk_task_place(&task, LK_ROLE_SRC, &from);
  lk_task_place(&task, LK_ROLE_DST, x);
  task.work.axes = 1U << 1;
  return lk_plan_task(planner, &task, error);
}

/* The kernel's step: the loss of each place, and its weight unless that is NULL. */
static lk_status plan_losses(lk_planner *planner, const lk_operand *x, const lk_operand *losses,
                             const lk_operand *told, lk_error *error) {
  const loss_params *params = planner->node->params;
  const lk_tensor_desc *desc = &x->desc;
  lk_operand operands[5] = {*x};
  uint32_t n = 2;
  lk_nll step = {.outer = desc->dims[0],
                 .classes = desc->dims[1],
                 .inner = lk_count_dims(desc, 2, desc->rank),
                 .ignored = params->ignored,
                 .has_ignored = params->has_ignored,
                 .is_f64 = desc->dtype == LK_F64,
                 .has_weights = lk_op_has(planner->node, WEIGHTS),
                 .tells_weights = told != NULL};
  LK_RETURN_NOT_OK(lk_planner_input(planner, TARGETS, LK_LAYOUT_PLAIN, &operands[1], error));
  step.wide = operands[1].desc.dtype == LK_I64;
  if (step.has_weights) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, WEIGHTS, LK_LAYOUT_PLAIN, &operands[n++], error));
  }
  operands[n++] = *losses;
  if (told != NULL) operands[n++] = *told;
  return lk_planner_kernel(planner, lk_nll_kernel, "loss", &step, sizeof step, operands, n, error);
}

/* The sum of `each`, which is as long as `desc` says. */
static lk_status plan_total(lk_planner *planner, const lk_operand *each, double divisor,
                            lk_operand *out_total, lk_error *error) {
  const lk_reduction sum = {LK_REDUCE_SUM, .divisor = divisor};
  const lk_tensor_desc desc = {.dtype = each->desc.dtype};
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out_total, error));
  return lk_plan_reduce_step(planner, each, out_total, 1, &sum, error);
}

/* The mean divides by the sum of weights, which is how many places there are without them. */
static lk_status plan_reduced(lk_planner *planner, const lk_operand *x, int64_t places,
                              lk_error *error) {
  const loss_params *params = planner->node->params;
  const bool averages = params->reduction == AVERAGE;
  const bool weighs = params->has_ignored || lk_op_has(planner->node, WEIGHTS);
  const lk_tensor_desc desc = lk_tensor_desc_make(x->desc.dtype, 1, &places);
  lk_operand losses, told, total, weight, to;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &losses, error));
  if (averages && weighs) LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &told, error));
  LK_RETURN_NOT_OK(plan_losses(planner, x, &losses, averages && weighs ? &told : NULL, error));
  const double divisor = averages && !weighs ? (double)places : 1;
  LK_RETURN_NOT_OK(plan_total(planner, &losses, divisor, &total, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  lk_chain_begin_at(planner, &to, &chain);
  chain.value = lk_chain_operand(&chain, &total);
  if (averages && weighs) {
    LK_RETURN_NOT_OK(plan_total(planner, &told, 1, &weight, error));
    chain.value = lk_element_binary(&chain.program, LK_ELEMENT_DIV, chain.value,
                                    lk_chain_operand(&chain, &weight));
  }
  return lk_chain_step(&chain, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const loss_params *params = planner->node->params;
  const int64_t places = lk_elements(&planner->inputs[TARGETS].desc);
  lk_operand x, losses;
  if (places == 0) { /* without elements, log_prob has none either */
    return params->reduction == AVERAGE ? lk_plan_mean_of_nothing(planner, error)
                                        : lk_plan_sum_of_nothing(planner, -1, error);
  }
  LK_RETURN_NOT_OK(lk_planner_input(planner, SCORES, LK_LAYOUT_PLAIN, &x, error));
  if (planner->node->class_->variant == CROSS_ENTROPY) {
    LK_RETURN_NOT_OK(plan_log_softmax(planner, &x, error));
  }
  if (params->reduction != EACH) return plan_reduced(planner, &x, places, error);
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &losses, error));
  return plan_losses(planner, &x, &losses, NULL, error);
}

#define LOSS_ROW(name, summary_text, outputs)                                                      \
  LK_OP_ROW(name, "", 12, summary_text, .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 2,            \
            .max_inputs = 3, .max_outputs = outputs, .input_types = "TUT", .output_types = "T",    \
            .types = {LK_TYPES_FLOAT, LK_TYPES_INDEX}),                                            \
      .by_f32 = true, .params_size = sizeof(loss_params),                                          \
      LK_OP_ATTRS(LK_ANY_INT("ignore_index", 0), LK_CHOICE("reduction", "mean|none|sum")),         \
      .parse = parse, .infer = infer, .plan = plan
const lk_op_class lk_op_negative_log_likelihood_loss = {
    LOSS_ROW("NegativeLogLikelihoodLoss", "Minus what the target's class has, weighted", 1),
    .variant = NLL,
};
const lk_op_class lk_op_softmax_cross_entropy_loss = {
    LOSS_ROW("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss of LogSoftmax", 2),
    .variant = CROSS_ENTROPY,
};
