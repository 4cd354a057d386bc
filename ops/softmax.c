/* Softmax, LogSoftmax, Hardmax (ONNX operators of these names): along one axis from opset 13 on,
 * over all dimensions from `axis` before. */
#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "ops/plan/work.h"

typedef struct softmax_params {
  int64_t axis;
  bool flattens; /* opset < 13: the input is seen as a matrix */
} softmax_params;

static void parse(lk_attrs *attrs, void *params) {
  softmax_params *self = params;
  self->flattens = attrs->opset < 13;
  self->axis = lk_attrs_int(attrs, "axis");
}

static void in_place_text(const lk_op_node *node, char *buffer, size_t capacity) {
  const softmax_params *self = node->params;
  (void)snprintf(buffer, capacity, "axis=%" PRId64, self->axis);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const softmax_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  const bool end = params->flattens && params->axis == (int64_t)x->rank;
  uint32_t axis = 0;
  if (lk_rank_is_known(x) && !end) {
    LK_RETURN_NOT_OK(lk_attr_axis(params->axis, x, &axis, error));
  }
  return lk_infer_same(self, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const softmax_params *self = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const uint32_t all = (1U << x->rank) - 1;
  const uint32_t axis =
      self->axis == (int64_t)x->rank ? x->rank : (uint32_t)lk_axis(self->axis, x->rank);
  lk_task task;
  lk_task_begin(&task, (lk_work_kind)planner->node->class_->variant);
  lk_task_input(&task, LK_ROLE_SRC, 0, x);
  lk_task_output(&task, LK_ROLE_DST, 0, &planner->outputs[0]);
  task.work.axes = self->flattens ? all & ~((1U << axis) - 1) : 1U << axis;
  return lk_plan_task(planner, &task, error);
}

#define ROW(name, summary_text, over)                                                              \
  LK_OP_ROW(name, "", 1, summary_text, .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1,             \
            .max_inputs = 1, .max_outputs = 1, .input_types = "T", .output_types = "T",            \
            .types = {LK_TYPES_FLOAT}, .in_place_inputs = over),                                   \
      .params_size = sizeof(softmax_params),                                                       \
      LK_OP_ATTRS(LK_INT("axis", 1, .until = 12), LK_INT("axis", -1, .since = 13)),                \
      .parse = parse, .infer = infer
const lk_op_class lk_op_softmax = {
    ROW("Softmax", "exp(x) / sum(exp(x)) along an axis", 1),
    .by_f32 = true,
    .variant = LK_WORK_SOFTMAX,
    .in_place_text = in_place_text,
    .plan = plan,
};
const lk_op_class lk_op_log_softmax = {
    ROW("LogSoftmax", "The logarithm of Softmax", 1),
    .by_f32 = true,
    .variant = LK_WORK_LOG_SOFTMAX,
    .in_place_text = in_place_text,
    .plan = plan,
};
const lk_op_class lk_op_hardmax = {
    ROW("Hardmax", "1 where the largest element along an axis is, else 0", 0),
    .variant = LK_WORK_HARDMAX,
    .plan = plan,
};
