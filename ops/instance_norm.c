/* Norms of each channel, or of groups of them: InstanceNormalization, GroupNormalization, and
 * latchkey's GroupNormalization, whose scale and bias have the shapes that Mul and Add take. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/work.h"

enum { SCALE_OF_CHANNELS_SINCE = 21 };

typedef struct group_params {
  int64_t groups; /* 0: each channel is one */
  bool of_groups; /* scales and biases are one for each group */
  bool is_spread; /* they have a dimension for each of the input's from the second on */
  float epsilon;
} group_params;

static void parse_group(lk_attrs *attrs, void *params) {
  ((group_params *)params)->of_groups = attrs->opset < SCALE_OF_CHANNELS_SINCE;
}

static void parse_spread(lk_attrs *attrs, void *params) {
  (void)attrs;
  ((group_params *)params)->is_spread = true;
}

/* One value for each of `count` channels or groups. */
static bool has_each(const group_params *params, const lk_tensor_desc *x, int64_t count,
                     const lk_tensor_desc *desc) {
  if (desc->rank != (params->is_spread ? x->rank - 1 : 1)) return false;
  for (uint32_t i = 1; i < desc->rank; i++) {
    if (lk_dims_differ(desc->dims[i], 1)) return false;
  }
  return !lk_dims_differ(desc->dims[0], count);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  static const char *const names[] = {"X", "scale", "bias"};
  const group_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  LK_RETURN_NOT_OK(lk_infer_same(self, error));
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank < 2) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "the input has rank %" PRIu32 ", it must have at least 2", x->rank);
  }
  const int64_t channels = x->dims[1];
  if (params->groups > 0 && channels >= 0 && channels % params->groups != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "attribute 'num_groups' is %" PRId64 ", it must divide the %" PRId64 " channels",
                   params->groups, channels);
  }
  const int64_t count = params->of_groups ? params->groups : channels;
  for (uint32_t i = 1; i < 3; i++) {
    const lk_tensor_desc *desc = &self->inputs[i].desc;
    if (!lk_rank_is_known(desc)) continue;
    if (!has_each(params, x, count, desc)) {
      char text[LK_TENSOR_TEXT_CAPACITY];
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "'%s' is %s, it must have one value for each of %" PRId64 " %s", names[i],
                     lk_tensor_text(desc, text), count, params->of_groups ? "groups" : "channels");
    }
  }
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const group_params *params = planner->node->params;
  const lk_tensor *inputs = planner->inputs;
  lk_task task;
  lk_task_begin(&task, LK_WORK_GROUP_NORM);
  lk_task_input(&task, LK_ROLE_SRC, 0, &inputs[0].desc);
  lk_task_input(&task, LK_ROLE_SCALE, 1, &inputs[1].desc);
  lk_task_input(&task, LK_ROLE_SHIFT, 2, &inputs[2].desc);
  lk_task_output(&task, LK_ROLE_DST, 0, &planner->outputs[0]);
  task.work.groups = params->groups > 0 ? params->groups : inputs[0].desc.dims[1];
  task.work.epsilon = params->epsilon;
  task.work.is_centered = true;
  return lk_plan_task(planner, &task, error);
}

#define EPSILON LK_PARAM(group_params, epsilon, "epsilon")
#define GROUPS LK_PARAM(group_params, groups, "num_groups", .least = 1)
#define GROUP_ROW(name, domain, first, summary_text, reader, ...)                                  \
  LK_OP_ROW(name, domain, first, summary_text, .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 3,     \
            .max_inputs = 3, .max_outputs = 1, .input_types = "T", .output_types = "T",            \
            .types = {LK_TYPES_BY_F32}),                                                           \
      .by_f32 = true, LK_OP_PARAMS(group_params, __VA_ARGS__), .parse = reader, .infer = infer,    \
      .plan = plan

const lk_op_class lk_op_instance_normalization = {
    GROUP_ROW("InstanceNormalization", "", 6, "(x - mean) / deviation of each channel", NULL,
              EPSILON),
    LK_OP_ATTRS(LK_FLOAT("epsilon", 1e-5F)),
};
const lk_op_class lk_op_group_normalization = {
    GROUP_ROW("GroupNormalization", "", 18, "(x - mean) / deviation of groups of channels",
              parse_group, EPSILON, GROUPS),
    LK_OP_ATTRS(LK_FLOAT("epsilon", 1e-5F), LK_REQUIRED_INT("num_groups"),
                LK_INT("stash_type", 1, .since = 21, .is_unused = 1)),
};
const lk_op_class lk_op_group_normalization_fused = {
    GROUP_ROW("GroupNormalization", "latchkey", 1,
              "(x - mean) / deviation of groups of channels; made by fusion", parse_spread, EPSILON,
              GROUPS),
    LK_OP_ATTRS(LK_FLOAT("epsilon", 1e-5F), LK_REQUIRED_INT("num_groups")),
};
