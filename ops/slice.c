/* Slice: a part of each dimension, in steps that may go backwards. A strided copy. */
#include <inttypes.h>

#include "base/status.h"
#include "ops/plan/moves.h"
#include "ops/plan/values.h"

enum { BOUNDS_AS_INPUTS_SINCE = 10, DATA = 0, STARTS = 1, ENDS = 2, AXES = 3, STEPS = 4 };

/* Of the lists by which a dimension is cut, by input; steps are not attributes. */
static const char *const names[] = {"data", "starts", "ends", "axes", "steps"};

typedef struct slice_params {
  uint32_t counts[STEPS + 1];
  int64_t lists[STEPS + 1][LK_MAX_RANK];
} slice_params;

static void parse(lk_attrs *attrs, void *params) {
  slice_params *slice = params;
  for (uint32_t i = STARTS; i <= AXES; i++) {
    slice->counts[i] = lk_attrs_ints(attrs, names[i], slice->lists[i], LK_MAX_RANK);
  }
}

/* What is taken of a dimension. */
typedef struct range {
  int64_t start, step, count;
} range;

/* ONNX's clamping: a negative bound counts from the end, then bounds are held in the dimension, so
 * that the ends of int64_t mean "all". */
static range clamp(int64_t start, int64_t end, int64_t step, int64_t dim) {
  if (dim < 0) { /* not known yet: all of it, or who knows */
    const bool all = start == 0 && end == INT64_MAX && step == 1;
    return (range){0, 1, all ? dim : LK_DIM_UNKNOWN};
  }
  int64_t low = 0, high = dim;
  if (step < 0) {
    low = -1;
    high = dim - 1;
  }
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  int64_t first_low = step < 0 && dim > 0 ? 0 : low;
  start = start < first_low ? first_low : start > high ? high : start;
  end = end < low ? low : end > high ? high : end;
  range result = {.start = start, .step = step};
  /* Unsigned, because -step overflows for the least step. */
  if (step > 0 && end > start) {
    result.count = (int64_t)((uint64_t)(end - start - 1) / (uint64_t)step + 1);
  } else if (step < 0 && start > end) {
    result.count = (int64_t)((uint64_t)(start - end - 1) / (0 - (uint64_t)step) + 1);
  }
  if (result.count <= 1)
    result.step = 1; /* the step is never taken, and its product must not overflow */
  return result;
}

/* All lists are as long as `starts`; without axes or steps, their lists are empty. */
static lk_status check_counts(const uint32_t counts[STEPS + 1], uint32_t rank, lk_error *error) {
  const uint32_t count = counts[STARTS];
  for (uint32_t i = ENDS; i <= STEPS; i++) {
    if (counts[i] == count || (i > ENDS && counts[i] == 0)) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to slice: 'starts' and '%s' have %" PRIu32 " and %" PRIu32
                   " elements, they must have as many",
                   names[i], count, counts[i]);
  }
  if (count <= rank) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to slice: 'starts' has %" PRIu32 " elements, at most the rank, %" PRIu32
                 ", is allowed",
                 count, rank);
}

static lk_status read_ranges(const lk_op_node *node, const lk_tensor *inputs,
                             range ranges[LK_MAX_RANK], lk_error *error) {
  const lk_tensor_desc *from = &inputs[DATA].desc;
  slice_params bounds = *(const slice_params *)node->params;
  const uint32_t *counts = bounds.counts;
  if (node->opset >= BOUNDS_AS_INPUTS_SINCE) {
    if (node->n_inputs <= ENDS) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to slice: it has %" PRIu32 " inputs, starts and ends are required",
                     node->n_inputs);
    }
    for (uint32_t i = STARTS; i <= STEPS; i++) {
      if (i > ENDS && !lk_op_has(node, i)) continue;
      LK_RETURN_NOT_OK(lk_read_ints(&inputs[i], names[i], bounds.lists[i], LK_MAX_RANK,
                                    &bounds.counts[i], error));
    }
  }
  const uint32_t count = counts[STARTS];
  LK_RETURN_NOT_OK(check_counts(counts, from->rank, error));
  uint32_t axes[LK_MAX_RANK];
  for (uint32_t i = 0; i < from->rank; i++) {
    axes[i] = i;
    ranges[i] = (range){0, 1, from->dims[i]};
  }
  LK_RETURN_NOT_OK(
      lk_read_axes(bounds.lists[AXES], counts[AXES], from->rank, "slice", axes, error));
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t axis = axes[i];
    const int64_t step = counts[STEPS] > 0 ? bounds.lists[STEPS][i] : 1;
    if (step == 0) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to slice: the step along axis %" PRIu32 " is 0, it must not be", axis);
    }
    ranges[axis] = clamp(bounds.lists[STARTS][i], bounds.lists[ENDS][i], step, from->dims[axis]);
  }
  return LK_OK;
}

/* Bit d: dimension d may be cut, by bounds of which not all are known. */
static uint32_t cut_dims(const lk_inference *self, uint32_t rank) {
  int64_t axes[LK_MAX_RANK];
  uint32_t count = 0, mask = 0;
  if (!lk_op_has(self->node, AXES)) {
    const int64_t starts = lk_infer_count(self, STARTS);
    return starts >= 0 && starts <= rank ? (1U << starts) - 1 : (1U << rank) - 1;
  }
  if (!lk_infer_knows(self, AXES) ||
      lk_read_ints(&self->inputs[AXES], "axes", axes, LK_MAX_RANK, &count, NULL) != LK_OK) {
    return (1U << rank) - 1;
  }
  for (uint32_t i = 0; i < count; i++) {
    const int64_t axis = lk_axis(axes[i], rank);
    if (axis >= 0) mask |= 1U << axis;
  }
  return mask;
}

/* What is left of a dimension that may be cut: where its bounds are values that tell. */
static int64_t cut_by_values(const lk_inference *self, uint32_t dim) {
  int64_t axes[LK_MAX_VALUES] = {0}, starts[LK_MAX_VALUES], ends[LK_MAX_VALUES];
  const int64_t from = self->inputs[DATA].desc.dims[dim];
  uint32_t n_axes = 0, count = 0, n_ends = 0;
  if (!lk_value_list(self, STARTS, starts, &count) || !lk_value_list(self, ENDS, ends, &n_ends) ||
      count != n_ends) {
    return LK_DIM_UNKNOWN;
  }
  if (!lk_op_has(self->node, AXES)) {
    for (n_axes = 0; n_axes < count; n_axes++) axes[n_axes] = n_axes;
  } else if (!lk_value_list(self, AXES, axes, &n_axes) || n_axes != count) {
    return LK_DIM_UNKNOWN;
  }
  for (uint32_t i = 0; i < count; i++) {
    int64_t axis = 0;
    if (!lk_dims_number(self->dims, axes[i], &axis)) return LK_DIM_UNKNOWN;
    if (lk_axis(axis, self->inputs[DATA].desc.rank) != dim) continue;
    const bool by_one = !lk_op_has(self->node, STEPS) || lk_value_at(self, STEPS, i) == 1;
    const bool is_first = starts[i] == 0 && by_one && lk_dims_is_dim(self->dims, ends[i]);
    return is_first ? lk_dims_least(self->dims, ends[i], from) : LK_DIM_UNKNOWN;
  }
  return from;
}

static bool knows_bounds(const lk_inference *self) {
  if (self->node->opset < BOUNDS_AS_INPUTS_SINCE) return true;
  for (uint32_t i = STARTS; i <= STEPS; i++) {
    if (lk_op_has(self->node, i) && !lk_infer_knows(self, i)) return false;
  }
  return true;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  lk_tensor_desc *to = &self->outputs[0];
  range ranges[LK_MAX_RANK] = {{0}};
  if (!lk_rank_is_known(&self->inputs[DATA].desc)) return LK_OK;
  lk_shape_of_input(self, 0, DATA);
  if (!knows_bounds(self)) {
    const uint32_t mask = cut_dims(self, to->rank);
    for (uint32_t i = 0; i < to->rank; i++) {
      if ((mask >> i & 1) != 0) to->dims[i] = cut_by_values(self, i);
    }
    return LK_OK;
  }
  LK_RETURN_NOT_OK(read_ranges(self->node, self->inputs, ranges, error));
  for (uint32_t i = 0; i < to->rank; i++) to->dims[i] = ranges[i].count;
  return LK_OK;
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  const lk_tensor *inputs = planner->inputs;
  range ranges[LK_MAX_RANK] = {{0}};
  LK_RETURN_NOT_OK(read_ranges(planner->node, inputs, ranges, error));
  bool whole = true;
  for (uint32_t i = 0; i < inputs[DATA].desc.rank; i++) {
    whole = whole && ranges[i].count == inputs[DATA].desc.dims[i] && ranges[i].step == 1;
  }
  if (whole) return lk_plan_same(planner, DATA, error);

  lk_operand from, to;
  const lk_layout layout = inputs[DATA].desc.layout;
  LK_RETURN_NOT_OK(lk_planner_input(planner, DATA, layout, &from, error));
  LK_RETURN_NOT_OK(
      lk_planner_output(planner, 0, lk_strided_output_layout(planner, layout), &to, error));
  lk_copy copy = lk_copy_between(&from.desc, &to.desc);
  for (uint32_t i = 0; i < copy.rank; i++) {
    copy.from_offset += copy.from[i] * ranges[i].start;
    copy.from[i] *= ranges[i].step;
  }
  return lk_planner_copy(planner, &copy, &from, &to, error);
}

const lk_op_class lk_op_slice = {
    LK_OP_ROW("Slice", "", 7, "a part of each dimension", .min_inputs = 1, .max_inputs = 5,
              .max_outputs = 1, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPES_INDEX},
              .shape_inputs = 1u << STARTS | 1u << ENDS | 1u << AXES | 1u << STEPS),
    .params_size = sizeof(slice_params),
    LK_OP_ATTRS(
        LK_INTS("axes", .until = BOUNDS_AS_INPUTS_SINCE - 1, .input = AXES),
        LK_INTS("ends", .is_required = 1, .until = BOUNDS_AS_INPUTS_SINCE - 1, .input = ENDS),
        LK_INTS("starts", .is_required = 1, .until = BOUNDS_AS_INPUTS_SINCE - 1, .input = STARTS)),
    .parse = parse,
    .infer = infer,
    .plan = plan,
};
