/* Gather: slices along an axis, picked by indices. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/planner.h"

typedef struct gather_params {
  int64_t axis;
} gather_params;

static void parse(lk_attrs *attrs, void *params) {
  ((gather_params *)params)->axis = lk_attrs_int(attrs, "axis", 0);
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *data = &self->inputs[0].desc, *indices = &self->inputs[1].desc;
  const int64_t given = ((const gather_params *)self->node->params)->axis;
  if (!lk_rank_is_known(data)) return LK_OK;
  const int64_t axis = lk_axis(given, data->rank);
  if (axis < 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to gather: axis %" PRId64 ", out of range for rank %" PRIu32, given,
                   data->rank);
  }
  if (!lk_rank_is_known(indices)) return LK_OK;
  const uint32_t rank = data->rank - 1 + indices->rank;
  if (rank > LK_MAX_RANK) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to gather: rank %" PRIu32 ", at most %d", rank,
                   LK_MAX_RANK);
  }
  lk_tensor_desc *to = &self->outputs[0];
  to->rank = 0;
  for (uint32_t i = 0; i < data->rank; i++) {
    if (i != (uint32_t)axis) {
      to->dims[to->rank++] = data->dims[i];
      continue;
    }
    for (uint32_t k = 0; k < indices->rank; k++) to->dims[to->rank++] = indices->dims[k];
  }
  return LK_OK;
}

typedef struct gather_step {
  int64_t outer, axis, count; /* slices before the axis, the axis, indices */
  size_t block;               /* bytes behind the axis */
  bool wide;                  /* indices are i64 */
} gather_step;

static lk_status gather_kernel(const void *params, void *const *pointers, lk_error *error) {
  const gather_step *step = params;
  const char *data = pointers[0];
  char *to = pointers[2];
  for (int64_t i = 0; i < step->outer; i++) {
    for (int64_t k = 0; k < step->count; k++) {
      int64_t index = step->wide ? ((const int64_t *)pointers[1])[k]
                                 : (int64_t)((const int32_t *)pointers[1])[k];
      if (index < -step->axis || index >= step->axis) {
        return lk_fail(error, LK_OUT_OF_RANGE,
                       "failed to gather: index %" PRId64 ", must be -%" PRId64 " to %" PRId64,
                       index, step->axis, step->axis - 1);
      }
      if (index < 0) index += step->axis;
      memcpy(to, data + (size_t)index * step->block, step->block);
      to += step->block;
    }
    data += (size_t)step->axis * step->block;
  }
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  lk_status status = LK_OK;
  lk_operand operands[3];
  LK_TRY(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_TRY(lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &operands[1], error));
  LK_TRY(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[2], error));
  const lk_tensor_desc *data = &operands[0].desc;
  const gather_params *gather = lk_planner_node(planner)->params;
  uint32_t axis = (uint32_t)lk_axis(gather->axis, data->rank);
  gather_step step = {.outer = 1,
                      .axis = data->dims[axis],
                      .count = lk_elements(&operands[1].desc),
                      .block = lk_dtype_size(data->dtype),
                      .wide = operands[1].desc.dtype == LK_I64};
  if (step.axis == 0) {
    LK_TRY(lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to gather: dimension %" PRIu32 " is 0, no index is in it", axis));
  }
  for (uint32_t i = 0; i < axis; i++) step.outer *= data->dims[i];
  for (uint32_t i = axis + 1; i < data->rank; i++) step.block *= (size_t)data->dims[i];
  LK_TRY(lk_planner_kernel(planner, gather_kernel, &step, sizeof step, operands, 3, error));
cleanup:
  return status;
}

const lk_op_class lk_op_gather = {
    LK_OP_ROW(.op_type = "Gather", .domain = "",
              .summary = "slices along an axis, picked by indices", .since = 7, .min_inputs = 2,
              .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPES_INDEX}),
    .params_size = sizeof(gather_params),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
