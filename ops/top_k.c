/* TopK: the largest or smallest elements along an axis, and where they are. */
#include <inttypes.h>

#include "base/status.h"
#include "ops/kernel/reduce/top_k.h"
#include "ops/plan/planner.h"

enum { K = 1, K_AS_INPUT_SINCE = 10 };

typedef struct top_k_params {
  int64_t axis;
  bool largest;
  lk_list k;
} top_k_params;

static lk_status infer(lk_inference *self, lk_error *error) {
  const top_k_params *params = self->node->params;
  const lk_tensor_desc *x = &self->inputs[0].desc;
  lk_list k = params->k;
  uint32_t axis = 0;
  if (!lk_rank_is_known(x)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_axes(&params->axis, 1, x->rank, "choose", &axis, error));
  if (lk_infer_knows_all(self)) LK_RETURN_NOT_OK(lk_read_list(self, K, "k", &k, error));
  const bool is_known = lk_infer_knows_all(self);
  if (is_known &&
      (k.count != 1 || k.values[0] < 0 || (x->dims[axis] >= 0 && k.values[0] > x->dims[axis]))) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to choose %" PRId64 " elements along axis %" PRIu32
                   ": 0 to its size, %" PRId64 ", are allowed",
                   k.count == 1 ? k.values[0] : -1, axis, x->dims[axis]);
  }
  for (uint32_t i = 0; i < self->node->n_outputs; i++) {
    lk_shape_of_input(self, i, 0);
    self->outputs[i].dims[axis] = is_known ? k.values[0] : LK_DIM_UNKNOWN;
  }
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const top_k_params *params = planner->node->params;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const uint32_t axis = (uint32_t)lk_axis(params->axis, x->rank);
  lk_operand operands[3];
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 1, operands, error));
  if (planner->node->n_outputs > 1) {
    LK_RETURN_NOT_OK(lk_planner_output(planner, 1, LK_LAYOUT_PLAIN, &operands[2], error));
  } else {
    lk_tensor_desc indices = operands[1].desc;
    indices.dtype = LK_I64;
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &indices, &operands[2], error));
  }
  lk_top_k step = {.outer = lk_count_dims(x, 0, axis),
                   .count = x->dims[axis],
                   .inner = lk_count_dims(x, axis + 1, x->rank),
                   .k = operands[1].desc.dims[axis],
                   .dtype = x->dtype,
                   .smallest = !params->largest};
  lk_top_k_plan(&step);
  return lk_planner_kernel(planner, lk_top_k_kernel, "top_k", &step, sizeof step, operands, 3,
                           error);
}

const lk_op_class lk_op_top_k = {
    LK_OP_ROW("TopK", "", 7, "the largest or smallest elements along an axis, and their places",
              .min_inputs = 1, .max_inputs = 2, .max_outputs = 2, .input_types = "TU",
              .output_types = "TU", .types = {LK_TYPES_INTEGER | LK_TYPES_FLOAT, LK_TYPE(LK_I64)},
              .shape_inputs = 1u << K),
    LK_OP_ATTRS(LK_INT("axis", -1), LK_REQUIRED_INT("k", .until = K_AS_INPUT_SINCE - 1, .input = K),
                LK_FLAG("largest", 1, .since = 11),
                /* unless they shall be sorted, any order is right */
                LK_FLAG("sorted", 1, .since = 11, .is_unused = 1)),
    LK_OP_PARAMS(top_k_params, LK_PARAM(top_k_params, axis, "axis"),
                 LK_PARAM(top_k_params, largest, "largest"), LK_PARAM(top_k_params, k, "k")),
    .infer = infer,
    .plan = plan,
};
