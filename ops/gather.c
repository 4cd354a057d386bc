/* Operators that pick blocks of a tensor by indices: Gather, GatherElements, GatherND,
 * ReverseSequence. */
#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/indexing.h"

/* ---- Gather ---- */

static lk_status infer_gather(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *data = &self->inputs[0].desc, *indices = &self->inputs[1].desc;
  uint32_t axis = 0;
  if (!lk_rank_is_known(data)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_axes(self->node->params, 1, data->rank, "gather", &axis, error));
  if (!lk_rank_is_known(indices)) return LK_OK;
  lk_tensor_desc *to = &self->outputs[0];
  to->rank = 0;
  LK_RETURN_NOT_OK(lk_append_dims(to, data, 0, axis, error));
  LK_RETURN_NOT_OK(lk_append_dims(to, indices, 0, indices->rank, error));
  return lk_append_dims(to, data, axis + 1, data->rank, error);
}

static lk_status plan_gather(lk_planner *planner, lk_error *error) {
  const lk_tensor_desc *data = &planner->inputs[0].desc;
  const uint32_t axis = (uint32_t)lk_axis(*(const int64_t *)planner->node->params, data->rank);
  const int64_t count = lk_elements(&planner->inputs[1].desc);
  const int64_t block = lk_count_dims(data, axis + 1, data->rank);
  lk_indexed step = {.rule = LK_INDEX_CHECKED, .elements = block, .rank = 2, .axis = axis};
  lk_index_dim(&step, 0, lk_count_dims(data, 0, axis), data->dims[axis] * block, count * block, 0);
  lk_index_dim(&step, 1, count, 0, block, 1);
  lk_index_axis(&step, data->dims[axis], block);
  return lk_plan_gather(planner, &step, error);
}

const lk_op_class lk_op_gather = {
    LK_OP_ROW("Gather", "", 7, "slices along an axis, picked by indices", .min_inputs = 2,
              .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPES_INDEX}),
    LK_OP_ATTRS(LK_INT("axis", 0)),
    LK_OP_PARAM(int64_t, "axis"),
    .infer = infer_gather,
    .plan = plan_gather,
};

/* ---- GatherElements ---- */

static lk_status infer_elements(lk_inference *self, lk_error *error) {
  lk_shape_of_input(self, 0, 1);
  return lk_check_elements(self, *(const int64_t *)self->node->params, error);
}

static lk_status plan_elements(lk_planner *planner, lk_error *error) {
  lk_indexed step = lk_index_elements(planner, *(const int64_t *)planner->node->params);
  return lk_plan_gather(planner, &step, error);
}

const lk_op_class lk_op_gather_elements = {
    LK_OP_ROW("GatherElements", "", 11, "an element for each index along an axis", .min_inputs = 2,
              .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",
              .types = {LK_TYPES_ANY, LK_TYPES_INDEX}),
    LK_OP_ATTRS(LK_INT("axis", 0)),
    LK_OP_PARAM(int64_t, "axis"),
    .infer = infer_elements,
    .plan = plan_elements,
};

/* ---- GatherND ---- */

static lk_status infer_nd(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *data = &self->inputs[0].desc, *indices = &self->inputs[1].desc;
  const int64_t batch = *(const int64_t *)self->node->params;
  if (!lk_rank_is_known(data) || !lk_rank_is_known(indices)) return LK_OK;
  LK_RETURN_NOT_OK(lk_check_tuples(data, indices, batch, error));
  for (uint32_t i = 0; i < batch; i++) {
    if (!lk_dims_differ(data->dims[i], indices->dims[i])) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to gather: batch dimension %" PRIu32 " is %" PRId64
                   " of the data and %" PRId64 " of the indices, they must be equal",
                   i, data->dims[i], indices->dims[i]);
  }
  const int64_t tuple = indices->dims[indices->rank - 1];
  lk_tensor_desc *to = &self->outputs[0];
  if (tuple < 0) return LK_OK;
  to->rank = 0;
  LK_RETURN_NOT_OK(lk_append_dims(to, indices, 0, indices->rank - 1, error));
  return lk_append_dims(to, data, (uint32_t)(batch + tuple), data->rank, error);
}

static lk_status plan_nd(lk_planner *planner, lk_error *error) {
  lk_indexed step = lk_index_tuples(planner, (uint32_t) * (const int64_t *)planner->node->params);
  return lk_plan_gather(planner, &step, error);
}

#define GATHER_ND(domain_text, first, index_types)                                                 \
  LK_OP_ROW("GatherND", domain_text, first, "slices picked by tuples of indices", .min_inputs = 2, \
            .max_inputs = 2, .max_outputs = 1, .input_types = "TU", .output_types = "T",           \
            .types = {LK_TYPES_ANY, index_types}),                                                 \
      .infer = infer_nd, .plan = plan_nd
const lk_op_class lk_op_gather_nd = {
    GATHER_ND("", 11, LK_TYPE(LK_I64)),
    LK_OP_ATTRS(LK_INT("batch_dims", 0, .since = 12)),
    LK_OP_PARAM(int64_t, "batch_dims"),
};
const lk_op_class lk_op_gather_nd_microsoft = {
    GATHER_ND("com.microsoft", 1, LK_TYPES_INDEX),
    .params_size = sizeof(int64_t), /* batch_dims, 0 */
};

/* ---- ReverseSequence ---- */

/* The parameter is whether time is axis 1, and the batch axis 0: a bool. */
static void parse_reverse(lk_attrs *attrs, void *params) {
  const int64_t time = lk_attrs_int(attrs, "time_axis");
  const int64_t batch = lk_attrs_int(attrs, "batch_axis");
  if (!(time == 0 && batch == 1) && !(time == 1 && batch == 0)) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attributes 'time_axis' and 'batch_axis' are %" PRId64 " and %" PRId64
                  ", they must be 0 and 1, or 1 and 0",
                  time, batch);
  }
  *(bool *)params = time == 1;
}

static lk_status infer_reverse(lk_inference *self, lk_error *error) {
  const uint32_t batch = *(const bool *)self->node->params ? 0 : 1;
  const lk_tensor_desc *x = &self->inputs[0].desc, *lengths = &self->inputs[1].desc;
  if (!lk_rank_is_known(x)) return LK_OK;
  if (x->rank < 2) return lk_refuse(x, "the input", "of rank 2 or more", error);
  const lk_tensor_desc wanted = {.rank = 1, .dims = {x->dims[batch]}};
  if (!lk_shape_may_equal(lengths, &wanted)) {
    return lk_refuse(lengths, "sequence_lens", "one value for each sequence", error);
  }
  return lk_infer_same(self, error);
}

static lk_status plan_reverse(lk_planner *planner, lk_error *error) {
  const uint32_t time = *(const bool *)planner->node->params ? 1 : 0;
  const lk_tensor_desc *x = &planner->inputs[0].desc;
  const int64_t block = lk_count_dims(x, 2, x->rank), row = x->dims[1] * block;
  lk_indexed step = {.rule = LK_INDEX_REVERSED, .elements = block, .rank = 2, .shift = time};
  lk_index_dim(&step, 0, x->dims[0], time == 0 ? 0 : row, row, time == 0 ? 0 : 1);
  lk_index_dim(&step, 1, x->dims[1], time == 1 ? 0 : block, block, time == 1 ? 0 : 1);
  lk_index_axis(&step, x->dims[time], time == 0 ? row : block);
  step.axis = time;
  return lk_plan_gather(planner, &step, error);
}

const lk_op_class lk_op_reverse_sequence = {
    LK_OP_ROW("ReverseSequence", "", 10, "the first elements of each sequence backwards",
              .min_inputs = 2, .max_inputs = 2, .max_outputs = 1, .input_types = "TU",
              .output_types = "T", .types = {LK_TYPES_ANY, LK_TYPE(LK_I64)}),
    .params_size = sizeof(bool),
    LK_OP_ATTRS(LK_INT("batch_axis", 1), LK_INT("time_axis", 0)),
    .parse = parse_reverse,
    .infer = infer_reverse,
    .plan = plan_reverse,
};
