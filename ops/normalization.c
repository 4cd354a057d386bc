/* BatchNormalization and LRN (ONNX operators of these names). */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/reduction.h"
#include "ops/plan/work.h"

enum { X, SCALE, B, MEAN, VAR };                /* inputs of BatchNormalization */
enum { Y, RUNNING_MEAN, RUNNING_VAR, OUTPUTS }; /* the last two of training mode */

typedef struct batch_norm_params {
  float epsilon, momentum;
  bool is_training; /* mean and variance are those of X */
} batch_norm_params;

static void parse_batch_norm(lk_attrs *attrs, void *params) {
  batch_norm_params *self = params;
  self->epsilon = lk_attrs_float(attrs, "epsilon");
  self->momentum = lk_attrs_float(attrs, "momentum");
  self->is_training = lk_attrs_bool(attrs, "training_mode");
  if (!lk_attrs_bool(attrs, "spatial")) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED, "attribute 'spatial' is 0, 1 is supported");
  }
  if (attrs->n_outputs > (self->is_training ? OUTPUTS : 1)) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED,
                  self->is_training ? "%" PRIu32 " outputs, 1 to 3 are supported"
                                    : "%" PRIu32 " outputs, only 'Y' is supported without "
                                      "'training_mode', which is since opset 14",
                  attrs->n_outputs);
  }
}

static lk_status check_rank(const lk_tensor_desc *x, lk_error *error) {
  if (!lk_rank_is_known(x) || (x->rank >= 2 && x->rank <= 5)) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT, "the input has rank %" PRIu32 ", 2 to 5 are supported",
                 x->rank);
}

static lk_status infer_batch_norm(lk_inference *self, lk_error *error) {
  static const char *const names[] = {"X", "scale", "B", "mean", "var"};
  const lk_tensor_desc *x = &self->inputs[0].desc;
  LK_RETURN_NOT_OK(check_rank(x, error));
  const int64_t channels = lk_rank_is_known(x) ? x->dims[1] : LK_DIM_UNKNOWN;
  for (uint32_t i = 1; i < 5; i++) {
    const lk_tensor_desc *desc = &self->inputs[i].desc;
    if (x->dtype != LK_DTYPE_NONE && desc->dtype != LK_DTYPE_NONE &&
        (x->dtype == LK_F64) != (desc->dtype == LK_F64)) {
      return lk_fail(error, LK_UNSUPPORTED,
                     "'%s' is of type %s and 'X' of %s, both or neither may be f64", names[i],
                     lk_dtype_name(desc->dtype), lk_dtype_name(x->dtype));
    }
    if (!lk_rank_is_known(desc)) continue;
    if (desc->rank != 1 || lk_dims_differ(desc->dims[0], channels)) {
      char text[LK_TENSOR_TEXT_CAPACITY];
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "'%s' is %s, it must have one value for each of %" PRId64 " channels",
                     names[i], lk_tensor_text(desc, text), channels);
    }
  }
  for (uint32_t i = RUNNING_MEAN; i < self->node->n_outputs; i++) {
    self->outputs[i] = lk_tensor_desc_make(self->outputs[i].dtype, 1, &channels);
  }
  return lk_infer_same(self, error);
}

/* ---- training mode ---- */

/* Mean and variance of each channel of X, and X less the mean. */
static lk_status plan_moments(lk_planner *planner, lk_operand *out_mean, lk_operand *out_variance,
                              lk_operand *out_centered, lk_error *error) {
  lk_operand x;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_input(planner, X, LK_LAYOUT_PLAIN, &x, error));
  if (lk_elements(&x.desc) == 0) return lk_refuse(&x.desc, "'X'", "one with elements", error);
  const uint32_t mask = ((1U << x.desc.rank) - 1) & ~2U;
  const double count = (double)lk_elements(&x.desc) / (double)x.desc.dims[1];
  const lk_reduction average = {LK_REDUCE_SUM, .divisor = count};
  const lk_reduction spread = {LK_REDUCE_SQUARES, .divisor = count};
  lk_tensor_desc reduced = x.desc;
  for (uint32_t i = 0; i < reduced.rank; i++) {
    if (i != 1) reduced.dims[i] = 1;
  }
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &reduced, out_mean, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &reduced, out_variance, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &x.desc, out_centered, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, &x, out_mean, mask, &average, error));
  lk_chain_begin_at(planner, out_centered, &chain);
  const lk_element_value value = lk_chain_operand(&chain, &x);
  const lk_element_value mean = lk_chain_operand(&chain, out_mean);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_SUB, value, mean);
  LK_RETURN_NOT_OK(lk_chain_step(&chain, error));
  LK_RETURN_NOT_OK(lk_plan_reduce_step(planner, out_centered, out_variance, mask, &spread, error));
  lk_put_beside(out_mean, x.desc.rank);
  lk_put_beside(out_variance, x.desc.rank);
  return LK_OK;
}

/* Output `output`, if it is wanted: input `input` * momentum + `current` * (1 - momentum). */
static lk_status plan_running(lk_planner *planner, uint32_t output, uint32_t input,
                              const lk_operand *current, lk_error *error) {
  const batch_norm_params *params = planner->node->params;
  lk_operand to, given, batch = *current;
  lk_chain chain;
  if (output >= planner->node->n_outputs) return LK_OK;
  batch.desc.rank = 1;
  LK_RETURN_NOT_OK(lk_planner_output(planner, output, LK_LAYOUT_PLAIN, &to, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, input, LK_LAYOUT_PLAIN, &given, error));
  lk_chain_begin_at(planner, &to, &chain);
  chain.value = lk_chain_operand(&chain, &given);
  lk_chain_unary(&chain, LK_ELEMENT_LINEAR, params->momentum, 0);
  const lk_element_value new_part = lk_element_unary(
      &chain.program, LK_ELEMENT_LINEAR, lk_chain_operand(&chain, &batch), 1 - params->momentum, 0);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_ADD, chain.value, new_part);
  return lk_chain_step(&chain, error);
}

static lk_status plan_training(lk_planner *planner, lk_error *error) {
  const batch_norm_params *params = planner->node->params;
  lk_operand mean, variance, centered, scale, bias;
  lk_chain chain;
  LK_RETURN_NOT_OK(plan_moments(planner, &mean, &variance, &centered, error));
  LK_RETURN_NOT_OK(plan_running(planner, RUNNING_MEAN, MEAN, &mean, error));
  LK_RETURN_NOT_OK(plan_running(planner, RUNNING_VAR, VAR, &variance, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, SCALE, LK_LAYOUT_PLAIN, &scale, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, B, LK_LAYOUT_PLAIN, &bias, error));
  lk_put_beside(&scale, planner->inputs[X].desc.rank);
  lk_put_beside(&bias, planner->inputs[X].desc.rank);
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  chain.value = lk_chain_operand(&chain, &variance);
  lk_chain_unary(&chain, LK_ELEMENT_LINEAR, 1, params->epsilon);
  lk_chain_unary(&chain, LK_ELEMENT_SQRT, 0, 0);
  const lk_element_value factor = lk_element_binary(&chain.program, LK_ELEMENT_DIV,
                                                    lk_chain_operand(&chain, &scale), chain.value);
  const lk_element_value x = lk_chain_operand(&chain, &centered);
  const lk_element_value b = lk_chain_operand(&chain, &bias);
  chain.value = lk_element_ternary(&chain.program, LK_ELEMENT_FMA, x, factor, b);
  return lk_chain_end(&chain, error);
}

static lk_status plan_batch_norm(lk_planner *planner, lk_error *error) {
  static const lk_role roles[] = {[X] = LK_ROLE_SRC,
                                  [SCALE] = LK_ROLE_SCALE,
                                  [B] = LK_ROLE_SHIFT,
                                  [MEAN] = LK_ROLE_MEAN,
                                  [VAR] = LK_ROLE_VARIANCE};
  const batch_norm_params *params = planner->node->params;
  lk_task task;
  if (params->is_training) return plan_training(planner, error);
  lk_task_begin(&task, LK_WORK_BATCH_NORM);
  for (uint32_t i = X; i <= VAR; i++) {
    lk_task_input(&task, roles[i], i, &planner->inputs[i].desc);
  }
  lk_task_output(&task, LK_ROLE_DST, 0, &planner->outputs[0]);
  task.work.epsilon = params->epsilon;
  return lk_plan_task(planner, &task, error);
}

static lk_status infer_lrn(lk_inference *self, lk_error *error) {
  LK_RETURN_NOT_OK(check_rank(&self->inputs[0].desc, error));
  return lk_infer_same(self, error);
}

static lk_status plan_lrn(lk_planner *planner, lk_error *error) {
  lk_task task;
  lk_task_begin(&task, LK_WORK_LRN);
  lk_task_input(&task, LK_ROLE_SRC, 0, &planner->inputs[0].desc);
  lk_task_output(&task, LK_ROLE_DST, 0, &planner->outputs[0]);
  task.work.lrn = *(const lk_work_lrn *)planner->node->params;
  return lk_plan_task(planner, &task, error);
}

const lk_op_class lk_op_batch_normalization = {
    LK_OP_ROW("BatchNormalization", "", 7, "Normalization by mean and variance of each channel",
              .flags = LK_OP_WORTH_CLAIMING | LK_OP_POST_OPS, .min_inputs = 5, .max_inputs = 5,
              .max_outputs = 5, .input_types = "TUUVV", .output_types = "TV",
              .types = {LK_TYPES_FLOAT, LK_TYPES_FLOAT, LK_TYPES_FLOAT}, .in_place_inputs = 1),
    .by_f32 = true,
    .params_size = sizeof(batch_norm_params),
    LK_OP_ATTRS(LK_FLOAT("epsilon", 1e-5F), LK_FLOAT("momentum", 0.9F),
                LK_FLAG("spatial", 1, .until = 8), LK_FLAG("training_mode", 0, .since = 14)),
    .parse = parse_batch_norm,
    .infer = infer_batch_norm,
    .plan = plan_batch_norm,
};

const lk_op_class lk_op_lrn = {
    LK_OP_ROW("LRN", "", 1, "Local response normalization across channels",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1, .max_inputs = 1, .max_outputs = 1,
              .input_types = "T", .output_types = "T", .types = {LK_TYPES_BY_F32}),
    .by_f32 = true,
    LK_OP_ATTRS(LK_FLOAT("alpha", 1e-4F), LK_FLOAT("beta", 0.75F), LK_FLOAT("bias", 1),
                LK_REQUIRED_INT("size")),
    LK_OP_PARAMS(lk_work_lrn, LK_PARAM(lk_work_lrn, size, "size", .least = 1),
                 LK_PARAM(lk_work_lrn, alpha, "alpha"), LK_PARAM(lk_work_lrn, beta, "beta"),
                 LK_PARAM(lk_work_lrn, bias, "bias")),
    .infer = infer_lrn,
    .plan = plan_lrn,
};
