/* Operators that put blocks into a tensor by indices: Scatter, ScatterElements, ScatterND,
 * TensorScatter, OneHot. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/element/cast.h"
#include "ops/plan/indexing.h"
#include "ops/plan/moves.h"

enum { DATA = 0, INDICES = 1, UPDATES = 2 };

static lk_status check_updates(const lk_tensor_desc *updates, const lk_tensor_desc *wanted,
                               lk_error *error) {
  char text[LK_TENSOR_TEXT_CAPACITY];
  if (lk_shape_may_equal(updates, wanted)) return LK_OK;
  return lk_refuse(updates, "updates", lk_tensor_text(wanted, text), error);
}

/* Output 0 begins as a copy of input 0, which may be where it lies. */
static lk_status plan_data(lk_planner *planner, lk_operand *to, lk_error *error) {
  lk_operand from;
  LK_RETURN_NOT_OK(lk_planner_input(planner, DATA, LK_LAYOUT_PLAIN, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, to, error));
  const lk_copy copy = lk_copy_between(&from.desc, &to->desc);
  return lk_planner_copy(planner, &copy, &from, to, error);
}

static lk_status plan_updates(lk_planner *planner, lk_indexed *step, uint32_t op, lk_error *error) {
  lk_operand to, indices, updates;
  LK_RETURN_NOT_OK(plan_data(planner, &to, error));
  if (lk_elements(&planner->inputs[UPDATES].desc) == 0) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_input(planner, INDICES, LK_LAYOUT_PLAIN, &indices, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, UPDATES, LK_LAYOUT_PLAIN, &updates, error));
  step->combine = lk_combine_find(to.desc.dtype, (lk_combine_op)op);
  step->combine_each = lk_combine_find_each(to.desc.dtype, (lk_combine_op)op);
  return lk_plan_scatter(planner, step, &to, &indices, &updates, error);
}

#define SCATTER_ROW(name, since_opset, summary_text, index_set)                                    \
  LK_OP_ROW(name, "", since_opset, summary_text, .min_inputs = 3, .max_inputs = 3,                 \
            .max_outputs = 1, .input_types = "TUT", .output_types = "T",                           \
            .types = {LK_TYPES_ANY, index_set}, .in_place_inputs = 1u << DATA)

/* min and max are ONNX's since opset 18. PyTorch writes them at 16 and 17 too. */
#define REDUCTION_ATTRS LK_CHOICE("reduction", "none|add|mul|min|max", .since = 16)

/* ---- Scatter, ScatterElements ---- */

typedef struct scatter_params {
  int64_t axis;
  uint32_t reduction; /* lk_combine_op */
} scatter_params;

static lk_status infer_elements(lk_inference *self, lk_error *error) {
  const scatter_params *params = self->node->params;
  LK_RETURN_NOT_OK(lk_check_elements(self, params->axis, error));
  LK_RETURN_NOT_OK(check_updates(&self->inputs[UPDATES].desc, &self->inputs[INDICES].desc, error));
  return lk_infer_same(self, error);
}

static lk_status plan_elements(lk_planner *planner, lk_error *error) {
  const scatter_params *params = planner->node->params;
  lk_indexed step = lk_index_elements(planner, params->axis);
  return plan_updates(planner, &step, params->reduction, error);
}

#define AXIS LK_PARAM(scatter_params, axis, "axis")
#define REDUCTION LK_PARAM(scatter_params, reduction, "reduction")
#define ELEMENTS(...)                                                                              \
  LK_OP_PARAMS(scatter_params, __VA_ARGS__), .infer = infer_elements, .plan = plan_elements
const lk_op_class lk_op_scatter = {
    SCATTER_ROW("Scatter", 9, "the older name of ScatterElements", LK_TYPES_INDEX),
    LK_OP_ATTRS(LK_INT("axis", 0)), ELEMENTS(AXIS)};
const lk_op_class lk_op_scatter_elements = {
    SCATTER_ROW("ScatterElements", 11, "an element put in for each index along an axis",
                LK_TYPES_INDEX),
    LK_OP_ATTRS(LK_INT("axis", 0), REDUCTION_ATTRS), ELEMENTS(AXIS, REDUCTION)};

/* ---- ScatterND ---- */

static lk_status infer_nd(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *data = &self->inputs[DATA].desc, *indices = &self->inputs[INDICES].desc;
  LK_RETURN_NOT_OK(lk_infer_same(self, error));
  if (!lk_rank_is_known(data) || !lk_rank_is_known(indices)) return LK_OK;
  LK_RETURN_NOT_OK(lk_check_tuples(data, indices, 0, error));
  const int64_t tuple = indices->dims[indices->rank - 1];
  lk_tensor_desc wanted = {.dtype = data->dtype};
  if (tuple < 0) return LK_OK;
  LK_RETURN_NOT_OK(lk_append_dims(&wanted, indices, 0, indices->rank - 1, error));
  LK_RETURN_NOT_OK(lk_append_dims(&wanted, data, (uint32_t)tuple, data->rank, error));
  return check_updates(&self->inputs[UPDATES].desc, &wanted, error);
}

static lk_status plan_nd(lk_planner *planner, lk_error *error) {
  const scatter_params *params = planner->node->params;
  lk_indexed step = lk_index_tuples(planner, 0);
  return plan_updates(planner, &step, params->reduction, error);
}

const lk_op_class lk_op_scatter_nd = {
    SCATTER_ROW("ScatterND", 11, "slices put in for tuples of indices", LK_TYPE(LK_I64)),
    LK_OP_ATTRS(REDUCTION_ATTRS),
    LK_OP_PARAMS(scatter_params, REDUCTION),
    .infer = infer_nd,
    .plan = plan_nd,
};

/* ---- TensorScatter ---- */

enum { CACHE_UPDATE = 1, WRITE_INDICES = 2 };

typedef struct cache_params {
  int64_t axis;
  bool circular;
} cache_params;

static lk_status infer_cache(lk_inference *self, lk_error *error) {
  const cache_params *params = self->node->params;
  const lk_tensor_desc *cache = &self->inputs[DATA].desc, *update = &self->inputs[1].desc;
  const lk_tensor_desc *indices = &self->inputs[WRITE_INDICES].desc;
  uint32_t axis = 0;
  LK_RETURN_NOT_OK(lk_infer_same(self, error));
  if (!lk_rank_is_known(cache)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_axes(&params->axis, 1, cache->rank, "scatter", &axis, error));
  lk_tensor_desc wanted = *cache, count = {.dtype = LK_I64, .rank = 1, .dims = {cache->dims[0]}};
  const bool is_known = lk_rank_is_known(update) && axis < update->rank;
  if (is_known) wanted.dims[axis] = update->dims[axis];
  LK_RETURN_NOT_OK(check_updates(update, &wanted, error));
  if (axis == 0 || (is_known && cache->dims[axis] >= 0 && wanted.dims[axis] > cache->dims[axis])) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to scatter along axis %" PRIu32 " of %" PRId64
                   ": the update has %" PRId64 ", it must have no more, and the axis must not be 0",
                   axis, cache->dims[axis], wanted.dims[axis]);
  }
  return lk_op_has(self->node, WRITE_INDICES) ? check_updates(indices, &count, error) : LK_OK;
}

static lk_status plan_cache(lk_planner *planner, lk_error *error) {
  const cache_params *params = planner->node->params;
  lk_operand to, update, indices;
  LK_RETURN_NOT_OK(plan_data(planner, &to, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, CACHE_UPDATE, LK_LAYOUT_PLAIN, &update, error));
  const lk_tensor_desc *cache = &to.desc;
  if (!lk_op_has(planner->node, WRITE_INDICES)) {
    lk_copy copy = lk_copy_between(&update.desc, cache);
    memcpy(copy.dims, update.desc.dims, sizeof copy.dims);
    return lk_planner_copy(planner, &copy, &update, &to, error);
  }
  LK_RETURN_NOT_OK(lk_planner_input(planner, WRITE_INDICES, LK_LAYOUT_PLAIN, &indices, error));
  const uint32_t axis = (uint32_t)lk_axis(params->axis, cache->rank);
  const int64_t block = lk_count_dims(cache, axis + 1, cache->rank), length = cache->dims[axis];
  const int64_t between = lk_count_dims(cache, 1, axis), count = update.desc.dims[axis];
  lk_indexed step = {.rule = params->circular ? LK_INDEX_CIRCULAR : LK_INDEX_SHIFTED,
                     .elements = block,
                     .rank = 3,
                     .axis = axis,
                     .shift = 2};
  lk_index_dim(&step, 0, cache->dims[0], between * length * block, between * count * block, 1);
  lk_index_dim(&step, 1, between, length * block, count * block, 0);
  lk_index_dim(&step, 2, count, 0, block, 0);
  lk_index_axis(&step, length, block);
  return lk_plan_scatter(planner, &step, &to, &indices, &update, error);
}

const lk_op_class lk_op_tensor_scatter = {
    LK_OP_ROW("TensorScatter", "", 24, "slices put into a cache, from a place of each batch on",
              .min_inputs = 2, .max_inputs = 3, .max_outputs = 1, .input_types = "TTU",
              .output_types = "T", .types = {LK_TYPES_ANY, LK_TYPE(LK_I64)},
              .in_place_inputs = 1u << DATA),
    LK_OP_ATTRS(LK_INT("axis", -2), LK_CHOICE("mode", "linear|circular")),
    LK_OP_PARAMS(cache_params, LK_PARAM(cache_params, axis, "axis"),
                 LK_PARAM(cache_params, circular, "mode")),
    .infer = infer_cache,
    .plan = plan_cache,
};

/* ---- OneHot ---- */

enum { DEPTH = 1, VALUES = 2 };

static lk_status infer_one_hot(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *from = &self->inputs[0].desc, *values = &self->inputs[VALUES].desc;
  const lk_tensor *depth = &self->inputs[DEPTH];
  lk_tensor_desc *to = &self->outputs[0];
  uint32_t axis = 0;
  int64_t count = LK_DIM_UNKNOWN;
  if (lk_infer_knows(self, DEPTH) && lk_elements(&depth->desc) == 1) {
    lk_cast_one(depth->desc.dtype, depth->data, LK_I64, &count);
    if (count < 0) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "failed to make one-hot: depth is %" PRId64 ", it must be at least 0", count);
    }
  }
  if (lk_shape_is_known(values) && lk_elements(values) != 2) {
    return lk_refuse(values, "values", "two", error);
  }
  if (!lk_rank_is_known(from)) return LK_OK;
  LK_RETURN_NOT_OK(
      lk_read_axes(self->node->params, 1, from->rank + 1, "make one-hot", &axis, error));
  to->rank = 0;
  LK_RETURN_NOT_OK(lk_append_dims(to, from, 0, axis, error));
  LK_RETURN_NOT_OK(lk_append_dims(to, &(lk_tensor_desc){.dims = {count}}, 0, 1, error));
  return lk_append_dims(to, from, axis, from->rank, error);
}

static lk_status plan_one_hot(lk_planner *planner, lk_error *error) {
  lk_operand to, indices, values;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &indices, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, VALUES, LK_LAYOUT_PLAIN, &values, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &to, error));
  const lk_tensor_desc *desc = &indices.desc;
  if (desc->dtype != LK_I64 && desc->dtype != LK_I32) {
    const lk_operand given = indices;
    lk_tensor_desc whole = *desc;
    whole.dtype = LK_I64;
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &whole, &indices, error));
    LK_RETURN_NOT_OK(lk_planner_cast(planner, &given, &indices, error));
  }
  lk_copy off = lk_copy_between(&to.desc, &to.desc);
  memset(off.from, 0, sizeof off.from);
  LK_RETURN_NOT_OK(lk_planner_copy(planner, &off, &values, &to, error));
  const uint32_t axis = (uint32_t)lk_axis(*(const int64_t *)planner->node->params, desc->rank + 1);
  const int64_t inner = lk_count_dims(desc, axis, desc->rank), depth = to.desc.dims[axis];
  lk_indexed on = {.rule = LK_INDEX_DROPPED,
                   .elements = 1,
                   .rank = 2,
                   .values_offset = (int64_t)lk_dtype_size(to.desc.dtype)};
  lk_index_dim(&on, 0, lk_count_dims(desc, 0, axis), depth * inner, 0, inner);
  lk_index_dim(&on, 1, inner, 1, 0, 1);
  lk_index_axis(&on, depth, inner);
  return lk_plan_scatter(planner, &on, &to, &indices, &values, error);
}

#define ONE_HOT_NUMBERS (LK_TYPES_INTEGER | (LK_TYPES_FLOAT & ~LK_TYPE(LK_BF16)))
const lk_op_class lk_op_one_hot = {
    LK_OP_ROW("OneHot", "", 9, "one value where an index says, and another one elsewhere",
              .min_inputs = 3, .max_inputs = 3, .max_outputs = 1, .input_types = "TUV",
              .output_types = "V", .types = {ONE_HOT_NUMBERS, ONE_HOT_NUMBERS, LK_TYPES_ANY},
              .shape_inputs = 1u << DEPTH),
    LK_OP_ATTRS(LK_INT("axis", -1)),
    LK_OP_PARAM(int64_t, "axis"),
    .infer = infer_one_hot,
    .plan = plan_one_hot,
};
