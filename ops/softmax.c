/* Softmax, LogSoftmax, Hardmax (ONNX operators of these names): along one axis from opset 13 on,
 * over all dimensions from `axis` before. */
#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/strides.h"
#include "ops/plan/moves.h"
#include "ops/plan/reduction.h"

enum { LOG_SOFTMAX = 1 }; /* of the class's variants */

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

/* The dimensions before those that sums go over, these, and those behind, plain. */
static void three_dims(const softmax_params *self, const lk_tensor_desc *x, int64_t dims[3]) {
  const int64_t axis = self->axis == (int64_t)x->rank ? self->axis : lk_axis(self->axis, x->rank);
  dims[0] = dims[1] = dims[2] = 1;
  for (int64_t i = 0; i < (int64_t)x->rank; i++) {
    const bool is_behind = i > axis && !self->flattens;
    dims[i < axis ? 0 : is_behind ? 2 : 1] *= x->dims[i];
  }
}

/* The kernel, which computes in f32. */
static lk_status plan_f32(lk_planner *planner, const lk_operand operands[2], bool is_log,
                          lk_error *error) {
  const softmax_params *self = planner->node->params;
  const lk_tensor_desc *x = &operands[0].desc;
  int64_t dims[3], strides[LK_MAX_RANK];
  bool is_last = true;
  three_dims(self, x, dims);
  if (!self->flattens) {
    const int64_t axis = lk_axis(self->axis, x->rank);
    lk_strides(x, 1, strides);
    dims[2] = strides[axis];
    dims[0] = lk_elements(x) / (dims[1] * dims[2]);
    is_last = x->layout == LK_LAYOUT_CHANNELS_LAST ? axis == 1 : axis == (int64_t)x->rank - 1;
  }
  return lk_plan_softmax(planner, &operands[0], &operands[1], dims, is_last, is_log, error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const softmax_params *self = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const bool is_log = planner->node->class_->variant == LOG_SOFTMAX;
  lk_operand operands[2]; /* from, to */
  const bool is_plain = self->flattens || x->dtype == LK_F64;
  const lk_layout layout = is_plain ? LK_LAYOUT_PLAIN : x->layout;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[1], error));
  if (x->dtype == LK_F32) return plan_f32(planner, operands, is_log, error);
  int64_t dims[3];
  three_dims(self, x, dims);
  return lk_plan_softmax_steps(planner, &operands[0], &operands[1], dims, is_log, error);
}

/* 1 where the first of the largest elements is, else 0. */
static lk_status plan_hardmax(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  lk_operand operands[2]; /* from, to */
  int64_t dims[3];
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[1], error));
  three_dims(planner->node->params, x, dims);
  lk_along step = {
      .dtype = x->dtype, .is_one_hot = true, .outer = dims[0], .n = dims[1], .inner = dims[2]};
  lk_along_plan(&step, lk_isa_get());
  return lk_planner_kernel(planner, lk_largest_kernel, "largest", &step, sizeof step, operands, 2,
                           error);
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
    .in_place_text = in_place_text,
    .plan = plan,
};
const lk_op_class lk_op_log_softmax = {
    ROW("LogSoftmax", "The logarithm of Softmax", 1),
    .by_f32 = true,
    .variant = LOG_SOFTMAX,
    .in_place_text = in_place_text,
    .plan = plan,
};
const lk_op_class lk_op_hardmax = {
    ROW("Hardmax", "1 where the largest element along an axis is, else 0", 0),
    .plan = plan_hardmax,
};
