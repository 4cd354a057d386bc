/* AffineGrid: a grid for GridSample, by affine maps. */
#include "ops/kernel/sample/affine_grid.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/planner.h"

enum { SIZE = 1 };

/* The maps are for as many dimensions as the size has. */
static lk_status check_maps(const lk_tensor_desc *maps, int64_t rank, lk_error *error) {
  if (!lk_rank_is_known(maps)) return LK_OK;
  const int64_t n = rank >= 0 ? rank : maps->rank == 3 ? maps->dims[1] : LK_DIM_UNKNOWN;
  const bool is_open = n < 0;
  if (maps->rank != 3 || (!is_open && n != 2 && n != 3) || lk_dims_differ(maps->dims[1], n) ||
      lk_dims_differ(maps->dims[2], is_open ? n : n + 1)) {
    return lk_refuse(maps, "the maps",
                     "2 x 3 matrices for a size of 4 numbers, or 3 x 4 for one of 5", error);
  }
  return LK_OK;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_tensor_desc *maps = &self->inputs[0].desc, *size_desc = &self->inputs[SIZE].desc;
  lk_tensor_desc *to = &self->outputs[0];
  lk_list size = {0};
  const int64_t count = lk_infer_count(self, SIZE);
  LK_RETURN_NOT_OK(check_maps(maps, count >= 0 ? count - 2 : LK_DIM_UNKNOWN, error));
  if (count >= 0 && count != 4 && count != 5) {
    return lk_refuse(size_desc, "the size", "4 or 5 numbers", error);
  }
  if (count < 0) return LK_OK;
  lk_shape_open(to, count);
  to->dims[count - 1] = count - 2;
  if (lk_rank_is_known(maps)) to->dims[0] = maps->dims[0];
  if (!lk_infer_knows_all(self)) return LK_OK;
  LK_RETURN_NOT_OK(lk_read_list(self, SIZE, "size", &size, error));
  for (int64_t i = 0; i < count; i++) {
    if (size.values[i] < 0) return lk_refuse(size_desc, "the size", "0 or more each", error);
  }
  if (lk_dims_differ(to->dims[0], size.values[0])) {
    return lk_refuse(maps, "the maps", "as many as the size has batches", error);
  }
  to->dims[0] = size.values[0];
  memcpy(to->dims + 1, size.values + 2, (size_t)(count - 2) * sizeof to->dims[0]);
  return lk_shape_check(to, "the grid", error);
}

static lk_status plan(lk_planner *planner, lk_error *error) {
  lk_operand operands[2];
  LK_RETURN_NOT_OK(lk_planner_plain(planner, 1, operands, error));
  lk_affine_grid step = {.rank = operands[1].desc.rank - 2,
                         .align_corners = *(const bool *)planner->node->params,
                         .is_wide = operands[1].desc.dtype == LK_F64,
                         .batches = operands[1].desc.dims[0]};
  memcpy(step.dims, operands[1].desc.dims + 1, step.rank * sizeof step.dims[0]);
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_affine_grid_kernel, "affine_grid", &step,
                                     sizeof step, operands, 2, error));
  lk_planner_flops(planner, 2.0 * (double)step.rank * (double)lk_elements(&operands[1].desc));
  return LK_OK;
}

const lk_op_class lk_op_affine_grid = {
    LK_OP_ROW("AffineGrid", "", 20, "places of an image's elements, moved by affine maps",
              .min_inputs = 2, .max_inputs = 2, .max_outputs = 1, .input_types = "TU",
              .output_types = "T", .types = {LK_TYPES_FLOAT, LK_TYPE(LK_I64)},
              .shape_inputs = 1u << SIZE),
    .by_f32 = true,
    LK_OP_ATTRS(LK_FLAG("align_corners", 0)),
    LK_OP_PARAM(bool, "align_corners"),
    .infer = infer,
    .plan = plan,
};
