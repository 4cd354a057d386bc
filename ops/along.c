/* Along one dimension: ArgMax, ArgMin, CumProd, CumSum (ONNX operators of these names). */
#include "ops/kernel/reduce/along.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/reduction.h"

/* ---- ArgMax, ArgMin ---- */

typedef struct arg_params {
  int64_t axis;
  bool keep_dims, is_last;
} arg_params;

static lk_status infer_arg(lk_inference *self, lk_error *error) {
  const arg_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_tensor_desc *to = &self->outputs[0];
  if (!lk_rank_is_known(x)) return LK_OK;
  uint32_t axis = 0;
  LK_RETURN_NOT_OK(lk_attr_axis(params->axis, x, &axis, error));
  to->rank = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (i != axis || params->keep_dims) {
      to->dims[to->rank++] = i == axis ? 1 : x->dims[i];
    }
  }
  if (x->dims[axis] != 0 || !lk_shape_is_known(to) || lk_elements(to) == 0) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT, "dimension %" PRIu32 " is 0, there must be elements",
                 axis);
}

static lk_status plan_arg(lk_planner *planner, lk_error *error) {
  const arg_params *params = planner->node->params;
  lk_along step = {.is_smallest = planner->node->class_->variant != 0,
                   .is_reversed = params->is_last};
  return lk_plan_along(planner, lk_largest_kernel, "largest", params->axis, &step, error);
}

#define ARG(symbol, name, summary_text, is_smallest)                                               \
  const lk_op_class lk_op_##symbol = {                                                             \
      LK_OP_ROW(name, "", 1, summary_text, .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1,         \
                .max_inputs = 1, .max_outputs = 1, .input_types = "T", .output_types = "U",        \
                .types = {LK_TYPES_NUMBER, LK_TYPE(LK_I64)}),                                      \
      .variant = is_smallest,                                                                      \
      LK_OP_ATTRS(LK_INT("axis", 0), LK_FLAG("keepdims", 1),                                       \
                  LK_FLAG("select_last_index", 0, .since = 12)),                                   \
      LK_OP_PARAMS(arg_params, LK_PARAM(arg_params, axis, "axis"),                                 \
                   LK_PARAM(arg_params, keep_dims, "keepdims"),                                    \
                   LK_PARAM(arg_params, is_last, "select_last_index")),                            \
      .infer = infer_arg,                                                                          \
      .plan = plan_arg}
ARG(arg_max, "ArgMax", "Where the largest element along an axis lies", 0);
ARG(arg_min, "ArgMin", "Where the least element along an axis lies", 1);

/* ---- CumProd, CumSum ---- */

typedef struct running_params {
  bool is_exclusive, is_reversed;
} running_params;

/* Input 1, one number. */
static lk_status read_axis(const lk_tensor *inputs, int64_t *out_axis, lk_error *error) {
  uint32_t count = 0;
  LK_RETURN_NOT_OK(lk_read_ints(&inputs[1], "axis", out_axis, 1, &count, error));
  const uint32_t rank = inputs[0].desc.rank;
  if (count == 1 && lk_axis(*out_axis, rank) >= 0) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "axis has %" PRIu32 " values, for a tensor of rank %" PRIu32
                 ": one is needed, within the rank",
                 count, rank);
}

static lk_status infer_running(lk_inference *self, lk_error *error) {
  int64_t axis = 0;
  if (lk_rank_is_known(&self->inputs[0].desc) && lk_infer_knows(self, 1)) {
    LK_RETURN_NOT_OK(read_axis(self->inputs, &axis, error));
  }
  return lk_infer_same(self, error);
}

static lk_status plan_running(lk_planner *planner, lk_error *error) {
  const running_params *params = planner->node->params;
  int64_t axis = 0;
  LK_RETURN_NOT_OK(read_axis(planner->inputs, &axis, error));
  lk_along step = {.is_product = planner->node->class_->variant != 0,
                   .is_exclusive = params->is_exclusive,
                   .is_reversed = params->is_reversed};
  return lk_plan_along(planner, lk_running_kernel, "running", axis, &step, error);
}

#define RUNNING(symbol, name, first, summary_text, is_product)                                     \
  const lk_op_class lk_op_##symbol = {                                                             \
      LK_OP_ROW(name, "", first, summary_text, .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 2,     \
                .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",       \
                .types = {LK_TYPES_NUMBER, LK_TYPES_INDEX}, .shape_inputs = 1u << 1),              \
      .variant = is_product,                                                                       \
      LK_OP_ATTRS(LK_FLAG("exclusive", 0), LK_FLAG("reverse", 0)),                                 \
      LK_OP_PARAMS(running_params, LK_PARAM(running_params, is_exclusive, "exclusive"),            \
                   LK_PARAM(running_params, is_reversed, "reverse")),                              \
      .infer = infer_running,                                                                      \
      .plan = plan_running}
RUNNING(cum_prod, "CumProd", 26, "Products of the elements up to each along an axis", 1);
RUNNING(cum_sum, "CumSum", 11, "Sums of the elements up to each along an axis", 0);
