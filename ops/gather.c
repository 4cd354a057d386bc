/* Gather: slices along an axis, picked by indices. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/gather.h"
#include "ops/plan/planner.h"

/* The parameter is the axis: an int64_t. */
static void parse(lk_attrs *attrs, void *params) {
  *(int64_t *)params = lk_attrs_int(attrs, "axis", 0);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *data = &self->inputs[0].desc, *indices = &self->inputs[1].desc;
  uint32_t axis = 0;
  if (!lk_rank_is_known(data)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_axes(self->node->params, 1, data->rank, "gather", &axis, error));
  if (!lk_rank_is_known(indices)) return LK_OK;
  const uint32_t rank = data->rank - 1 + indices->rank;
  if (rank > LK_MAX_RANK) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to gather: rank %" PRIu32 ", at most %d", rank,
                   LK_MAX_RANK);
  }
  lk_tensor_desc *to = &self->outputs[0];
  to->rank = 0;
  for (uint32_t i = 0; i < data->rank; i++) {
    if (i != axis) {
      to->dims[to->rank++] = data->dims[i];
      continue;
    }
    for (uint32_t k = 0; k < indices->rank; k++) to->dims[to->rank++] = indices->dims[k];
  }
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  lk_operand operands[3];
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[2], error));
  const lk_tensor_desc *data = &operands[0].desc;
  const uint32_t axis = (uint32_t)lk_axis(*(const int64_t *)planner->node->params, data->rank);
  lk_gather step = {.outer = 1,
                    .axis = data->dims[axis],
                    .count = lk_elements(&operands[1].desc),
                    .block = lk_dtype_size(data->dtype),
                    .wide = operands[1].desc.dtype == LK_I64};
  if (step.axis == 0) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to gather: dimension %" PRIu32 " is 0, no index is in it", axis);
  }
  for (uint32_t i = 0; i < axis; i++) step.outer *= data->dims[i];
  for (uint32_t i = axis + 1; i < data->rank; i++) step.block *= (size_t)data->dims[i];
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_gather_kernel, "gather", &step, sizeof step,
                                     operands, 3, error));
  /* it reads the slices that are picked, not all of the data */
  const double moved = (double)step.outer * (double)step.count * (double)step.block;
  lk_planner_work(planner, 0, 2 * moved + (double)step.count * (step.wide ? 8 : 4));
  return LK_OK;
}

const lk_op_class lk_op_gather = {
    LK_OP_ROW("Gather", "", 7, "slices along an axis, picked by indices", .min_inputs = 2,
              .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPES_INDEX}),
    .params_size = sizeof(int64_t),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
