/* GroupNorm and SkipGroupNorm (com.microsoft): GroupNormalization of tensors whose channels may be
 * the last dimension, of the sum with another one, and with an activation. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/work.h"

enum { X, GAMMA, BETA, SKIP, BIAS }; /* the last two of SkipGroupNorm */
enum { OUTPUT, SUM };

typedef struct group_norm_params {
  int64_t groups;
  float epsilon;
  bool is_last, is_activated;
} group_norm_params;

static void parse(lk_attrs *attrs, void *params) {
  group_norm_params *self = params;
  const int64_t activation = lk_attrs_int(attrs, "activation");
  self->groups = lk_attrs_int(attrs, "groups");
  self->epsilon = lk_attrs_float(attrs, "epsilon");
  self->is_last = lk_attrs_bool(attrs, "channels_last");
  self->is_activated = activation != 0;
  if (self->groups < 1) {
    lk_attrs_fail(attrs, LK_OUT_OF_RANGE,
                  "attribute 'groups' is %" PRId64 ", it must be at least 1", self->groups);
  }
  if (activation < 0 || activation > 1) {
    lk_attrs_fail(attrs, LK_UNSUPPORTED,
                  "attribute 'activation' is %" PRId64 ", 0 (none) and 1 (SiLU) are supported",
                  activation);
  }
}

/* ---- shapes ---- */

static int64_t channels_of(const group_norm_params *params, const lk_tensor_desc *x) {
  return x->dims[params->is_last ? x->rank - 1 : 1];
}

static lk_status check_channels(const lk_inference *self, uint32_t input, const char *name,
                                int64_t channels, lk_error *error) {
  const lk_tensor_desc *x = &self->inputs[input].desc;
  if (!lk_op_has(self->node, input) || !lk_rank_is_known(x)) return LK_OK;
  if (x->rank == 1 && !lk_dims_differ(x->dims[0], channels)) return LK_OK;
  return lk_refuse(x, name, "one value for each channel", error);
}

/* As the input, or a value for each batch and channel. */
static lk_status check_skip(const lk_inference *self, lk_error *error) {
  const group_norm_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[X].desc, *skip = &self->inputs[SKIP].desc;
  if (!lk_op_has(self->node, SKIP) || !lk_rank_is_known(skip)) return LK_OK;
  bool fits = skip->rank == x->rank || skip->rank == 2;
  fits = fits && !lk_dims_differ(skip->dims[0], x->dims[0]) &&
         !lk_dims_differ(channels_of(params, skip), channels_of(params, x));
  const uint32_t first = params->is_last ? 1 : 2;
  for (uint32_t i = 0; fits && skip->rank > 2 && i + 2 < x->rank; i++) {
    const int64_t dim = skip->dims[first + i];
    fits = dim == 1 || !lk_dims_differ(dim, x->dims[first + i]);
  }
  return fits ? LK_OK
              : lk_refuse(skip, "skip", "as the input, or with 1 for all but batch and channels",
                          error);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const group_norm_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[X].desc;
  for (uint32_t i = 0; i < self->node->n_outputs; i++) lk_shape_of_input(self, i, X);
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank < 3) return lk_refuse(x, "the input", "of rank 3 or more", error);
  const int64_t channels = channels_of(params, x);
  if (channels >= 0 && channels % params->groups != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input has %" PRId64 " channels, they must be a multiple of the %" PRId64
                   " groups",
                   channels, params->groups);
  }
  LK_RETURN_NOT_OK(check_channels(self, GAMMA, "gamma", channels, error));
  LK_RETURN_NOT_OK(check_channels(self, BETA, "beta", channels, error));
  LK_RETURN_NOT_OK(check_skip(self, error));
  return check_channels(self, BIAS, "the bias", channels, error);
}

/* ---- steps: channels are the second dimension of all operands here, wherever they lie ---- */

static void put_channels_second(const lk_planner *planner, lk_operand *inout) {
  const group_norm_params *params = planner->node->params;
  if (!params->is_last || inout->desc.rank < 3) return;
  inout->desc = lk_shape_channels_second(&inout->desc);
}

/* An input as an operand that broadcasts; vectors are of channels, matrices of batches too. */
static lk_status add_input(lk_chain *chain, uint32_t input, lk_error *error) {
  lk_operand operand;
  if (!lk_op_has(chain->planner->node, input)) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_input(chain->planner, input, LK_LAYOUT_PLAIN, &operand, error));
  const uint32_t rank = operand.desc.rank, behind = chain->to.desc.rank - 2;
  if (rank < 3) {
    for (uint32_t i = 0; i < behind; i++) operand.desc.dims[operand.desc.rank++] = 1;
  } else {
    put_channels_second(chain->planner, &operand);
  }
  const lk_element_value value = lk_chain_operand(chain, &operand);
  chain->value =
      input == X ? value : lk_element_binary(&chain->program, LK_ELEMENT_ADD, chain->value, value);
  return LK_OK;
}

/* X + skip + bias, plain. */
static lk_status plan_sum(lk_planner *planner, const lk_operand *to, lk_error *error) {
  lk_chain chain;
  lk_operand sum;
  const bool has_sum = planner->node->n_outputs > SUM;
  lk_chain_begin_at(planner, to, &chain);
  if (has_sum) {
    LK_RETURN_NOT_OK(lk_planner_output(planner, SUM, LK_LAYOUT_PLAIN, &sum, error));
    put_channels_second(planner, &sum);
    lk_chain_begin_at(planner, &sum, &chain);
  }
  LK_RETURN_NOT_OK(add_input(&chain, X, error));
  LK_RETURN_NOT_OK(add_input(&chain, SKIP, error));
  LK_RETURN_NOT_OK(add_input(&chain, BIAS, error));
  LK_RETURN_NOT_OK(lk_chain_step(&chain, error));
  if (!has_sum) return LK_OK;
  lk_chain_begin_at(planner, to, &chain);
  chain.value = lk_chain_operand(&chain, &sum);
  return lk_chain_step(&chain, error);
}

static lk_status plan_norm(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                           lk_error *error) {
  const group_norm_params *params = planner->node->params;
  lk_task task;
  lk_task_begin(&task, LK_WORK_GROUP_NORM);
  lk_task_operand(&task, LK_ROLE_SRC, from);
  lk_task_operand(&task, LK_ROLE_DST, to);
  lk_task_input(&task, LK_ROLE_SCALE, GAMMA, &planner->inputs[GAMMA].desc);
  lk_task_input(&task, LK_ROLE_SHIFT, BETA, &planner->inputs[BETA].desc);
  task.work.groups = params->groups;
  task.work.epsilon = params->epsilon;
  task.work.is_centered = true;
  return lk_plan_task(planner, &task, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const group_norm_params *params = planner->node->params;
  lk_operand to, sum, normal;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_planner_output(planner, OUTPUT, LK_LAYOUT_PLAIN, &to, error));
  put_channels_second(planner, &to);
  lk_tensor_desc plain = to.desc;
  plain.layout = LK_LAYOUT_PLAIN;
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &plain, &sum, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &plain, &normal, error));
  LK_RETURN_NOT_OK(plan_sum(planner, &sum, error));
  LK_RETURN_NOT_OK(plan_norm(planner, &sum, &normal, error));
  lk_chain_begin_at(planner, &to, &chain);
  chain.value = lk_chain_operand(&chain, &normal);
  if (params->is_activated) lk_chain_unary(&chain, LK_ELEMENT_SWISH, 1, 0);
  return lk_chain_step(&chain, error);
}

#define ROW(name, summary_text, least, most, outputs)                                              \
  LK_OP_ROW(name, "com.microsoft", 1, summary_text, .flags = LK_OP_WORTH_CLAIMING,                 \
            .min_inputs = least, .max_inputs = most, .max_outputs = outputs,                       \
            .input_types = "TUUT", .output_types = "T",                                            \
            .types = {LK_TYPES_BY_F32, LK_TYPES_BY_F32}),                                          \
      .by_f32 = true, .params_size = sizeof(group_norm_params),                                    \
      LK_OP_ATTRS(LK_REQUIRED_INT("activation"), LK_FLAG("channels_last", 1),                      \
                  LK_FLOAT("epsilon", 1e-5F), LK_REQUIRED_INT("groups")),                          \
      .parse = parse, .infer = infer, .plan = plan

const lk_op_class lk_op_group_norm = {
    ROW("GroupNorm", "GroupNormalization, and an activation", 3, 3, 1)};
const lk_op_class lk_op_skip_group_norm = {ROW("SkipGroupNorm", "GroupNorm of a sum", 4, 5, 2)};
