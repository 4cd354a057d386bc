/* Steps that move blocks by indices. */
#include "ops/plan/indexing.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"

/* ---- shape rules ---- */

lk_status lk_append_dims(lk_tensor_desc *to, const lk_tensor_desc *from, uint32_t first,
                         uint32_t end, lk_error *error) {
  for (uint32_t i = first; i < end; i++) {
    if (to->rank == LK_MAX_RANK) {
      return lk_fail(error, LK_OUT_OF_RANGE,
                     "the output has rank %" PRIu32 " or more, at most %d is supported",
                     to->rank + end - i, LK_MAX_RANK);
    }
    to->dims[to->rank++] = from->dims[i];
  }
  return LK_OK;
}

lk_status lk_check_elements(const lk_inference *self, int64_t axis, lk_error *error) {
  const lk_tensor_desc *data = &self->inputs[0].desc, *indices = &self->inputs[1].desc;
  uint32_t place = 0;
  if (!lk_rank_is_known(data)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_axes(&axis, 1, data->rank, "index", &place, error));
  bool fits = !lk_rank_is_known(indices) || indices->rank == data->rank;
  for (uint32_t i = 0; fits && lk_rank_is_known(indices) && i < data->rank; i++) {
    fits = i == place || data->dims[i] < 0 || indices->dims[i] <= data->dims[i];
  }
  if (fits) return LK_OK;
  char text[LK_TENSOR_TEXT_CAPACITY], data_text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "indices are %s, they must have the rank of the data, %s, and be no larger but "
                 "along axis %" PRIu32,
                 lk_tensor_text(indices, text), lk_tensor_text(data, data_text), place);
}

lk_status lk_check_tuples(const lk_tensor_desc *data, const lk_tensor_desc *indices, int64_t batch,
                          lk_error *error) {
  const int64_t tuple = indices->rank > 0 ? indices->dims[indices->rank - 1] : 0;
  const int64_t rank = data->rank;
  const bool has_batch = batch >= 0 && batch < rank && batch < (int64_t)indices->rank;
  const int64_t most = has_batch ? rank - batch : 0;
  if (has_batch && (tuple < 0 || (tuple > 0 && tuple <= most))) return LK_OK;
  char text[LK_TENSOR_TEXT_CAPACITY], data_text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "indices are %s, their last dimension must be 1 to %" PRId64
                 " for data of %s with %" PRId64 " batch dimensions",
                 lk_tensor_text(indices, text), most, lk_tensor_text(data, data_text), batch);
}

/* ---- steps ---- */

lk_indexed lk_index_elements(lk_planner *planner, int64_t axis) {
  const lk_tensor_desc *data = &planner->inputs[0].desc, *indices = &planner->inputs[1].desc;
  lk_indexed step = {.rule = LK_INDEX_CHECKED, .elements = 1, .rank = data->rank};
  step.axis = (uint32_t)lk_axis(axis, data->rank);
  for (uint32_t i = 0; i < data->rank; i++) {
    const int64_t stride = lk_count_dims(data, i + 1, data->rank);
    const int64_t place = lk_count_dims(indices, i + 1, data->rank);
    lk_index_dim(&step, i, indices->dims[i], i == step.axis ? 0 : stride, place, place);
    if (i == step.axis) lk_index_axis(&step, data->dims[i], stride);
  }
  return step;
}

lk_indexed lk_index_tuples(lk_planner *planner, uint32_t batch) {
  const lk_tensor_desc *data = &planner->inputs[0].desc, *indices = &planner->inputs[1].desc;
  const uint32_t tuple = (uint32_t)indices->dims[indices->rank - 1], end = batch + tuple;
  const int64_t slots = lk_count_dims(indices, batch, indices->rank - 1);
  const int64_t block = lk_count_dims(data, end, data->rank);
  lk_indexed step = {.rule = LK_INDEX_CHECKED, .elements = block, .rank = 2, .axis = batch};
  lk_index_dim(&step, 0, lk_count_dims(data, 0, batch), lk_count_dims(data, batch, data->rank),
               slots * block, slots * tuple);
  lk_index_dim(&step, 1, slots, 0, block, tuple);
  for (uint32_t i = batch; i < end; i++) {
    lk_index_axis(&step, data->dims[i], lk_count_dims(data, i + 1, data->rank));
  }
  return step;
}

/* Elements become bytes. */
static lk_status plan_indexed(lk_planner *planner, lk_indexed *step, const lk_operand operands[3],
                              lk_error *error) {
  const int64_t size = (int64_t)lk_dtype_size(operands[0].desc.dtype);
  step->wide = operands[1].desc.dtype == LK_I64;
  step->block = (size_t)(step->elements * size);
  for (uint32_t i = 0; i < LK_MAX_RANK; i++) {
    step->strides[i] *= size;
    step->data[i] *= size;
    step->values[i] *= size;
  }
  for (uint32_t k = 0; k < step->n_axes; k++) {
    if (step->sizes[k] > 0) continue;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to move by indices: dimension %" PRIu32
                   " has size 0, so that no index is allowed",
                   step->axis + k);
  }
  lk_indexed_plan(step);
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_indexed_kernel,
                                     step->scatters ? "scatter" : "gather", step, sizeof *step,
                                     operands, 3, error));
  /* it touches the blocks that are picked, not all of the data */
  lk_planner_work(planner, 0,
                  (double)step->slots * (2 * (double)step->block + (step->wide ? 8 : 4)));
  return LK_OK;
}

lk_status lk_plan_gather(lk_planner *planner, lk_indexed *step, lk_error *error) {
  lk_operand operands[3];
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 2, operands, error));
  return plan_indexed(planner, step, operands, error);
}

lk_status lk_plan_gather_rows(lk_planner *planner, const lk_operand *table,
                              const lk_operand *indices, uint32_t rule, const lk_operand *to,
                              lk_error *error) {
  const int64_t row = lk_count_dims(&table->desc, 1, table->desc.rank);
  lk_indexed step = {.rule = rule, .elements = row, .rank = 1};
  lk_index_dim(&step, 0, lk_elements(&indices->desc), 0, row, 1);
  lk_index_axis(&step, table->desc.dims[0], row);
  return plan_indexed(planner, &step, (lk_operand[]){*table, *indices, *to}, error);
}

lk_status lk_plan_scatter(lk_planner *planner, lk_indexed *step, const lk_operand *data,
                          const lk_operand *indices, const lk_operand *values, lk_error *error) {
  const lk_operand operands[] = {*data, *indices, *values};
  step->scatters = true;
  return plan_indexed(planner, step, operands, error);
}
