/* Steps that move elements. */
#include "ops/plan/moves.h"

#include <stddef.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/move/concat.h"
#include "ops/kernel/move/fill.h"
#include "ops/kernel/strides.h"

lk_layout lk_image_layout(lk_planner *planner, uint32_t index) {
  const lk_tensor_desc *desc = &planner->inputs[index].desc;
  return desc->layout == LK_LAYOUT_CHANNELS_LAST ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
}

lk_layout lk_rows_layout(lk_planner *planner, uint32_t index) {
  const lk_tensor_desc *desc = &planner->inputs[index].desc;
  const bool is_apart = desc->layout == LK_LAYOUT_HEADS_INSIDE &&
                        !lk_layout_same_bytes(desc, LK_LAYOUT_PLAIN, LK_LAYOUT_HEADS_INSIDE);
  return is_apart ? LK_LAYOUT_HEADS_INSIDE : LK_LAYOUT_PLAIN;
}

lk_layout lk_strided_output_layout(lk_planner *planner, lk_layout natural) {
  lk_tensor_desc to = {.rank = planner->outputs[0].rank};
  to.layout = lk_planner_wish(planner, 0, natural);
  return lk_layout_fits(&to) ? to.layout : LK_LAYOUT_PLAIN;
}

lk_copy lk_copy_ordered(const lk_tensor_desc *from, const lk_tensor_desc *to,
                        const uint8_t *order) {
  lk_copy copy = lk_copy_between(from, to);
  int64_t strides[LK_MAX_RANK];
  memcpy(strides, copy.from, sizeof strides);
  for (uint32_t i = 0; i < copy.rank; i++) copy.from[i] = strides[order[i]];
  return copy;
}

bool lk_copy_moves_nothing(const lk_copy *copy) {
  for (uint32_t i = 0; i < copy->rank; i++) {
    if (copy->dims[i] != 1 && copy->from[i] != copy->to[i]) return false;
  }
  return true;
}

/* What lies within the axis is a block in each. */
lk_status lk_plan_concat_blocks(lk_planner *planner, const lk_operand *from, uint32_t count,
                                uint32_t axis, const lk_operand *to, lk_error *error) {
  lk_concat concat = {.count = count};
  lk_operand operands[LK_CONCAT_SOURCES + 1];
  int64_t strides[LK_MAX_RANK];
  lk_strides(&to->desc, (int64_t)lk_dtype_size(to->desc.dtype), strides);
  for (uint32_t i = 0; i < count; i++) {
    operands[i] = from[i];
    concat.blocks[i] = (size_t)(strides[axis] * from[i].desc.dims[axis]);
  }
  operands[count] = *to;
  const int64_t within = strides[axis] * to->desc.dims[axis];
  concat.rows = lk_elements(&to->desc) * (int64_t)lk_dtype_size(to->desc.dtype) / within;
  lk_concat_plan(&concat);
  return lk_planner_kernel(planner, lk_concat_kernel, "concat", &concat,
                           offsetof(lk_concat, blocks) + count * sizeof concat.blocks[0], operands,
                           count + 1, error);
}

lk_status lk_plan_view(lk_planner *planner, uint32_t index, lk_layout from_layout,
                       lk_layout to_layout, lk_error *error) {
  lk_operand from, to;
  LK_RETURN_NOT_OK(lk_planner_input(planner, index, from_layout, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, to_layout, &to, error));
  if (from.place == LK_PLACE_INPUT && to.place == LK_PLACE_OUTPUT) {
    planner->body->alias_input = (int16_t)index;
  }
  const lk_copy copy = {.block = (size_t)lk_elements(&from.desc) * lk_dtype_size(from.desc.dtype)};
  return lk_planner_copy(planner, &copy, &from, &to, error);
}

lk_status lk_plan_same(lk_planner *planner, uint32_t index, lk_error *error) {
  const lk_layout layout = planner->inputs[index].desc.layout;
  return lk_plan_view(planner, index, layout, layout, error);
}

lk_status lk_plan_fill(lk_planner *planner, const lk_operand *to, size_t size, const void *value,
                       lk_error *error) {
  const int64_t bytes = lk_elements(&to->desc) * (int64_t)lk_dtype_size(to->desc.dtype);
  lk_fill fill;
  fill.count = bytes / (int64_t)size;
  fill.size = size;
  memcpy(fill.value, value, size);
  return lk_planner_kernel(planner, lk_fill_kernel, "fill", &fill, offsetof(lk_fill, value) + size,
                           to, 1, error);
}

/* ---- f16 and bf16 by way of f32 ---- */

static bool is_half(uint32_t dtype) {
  return dtype == LK_F16 || dtype == LK_BF16;
}

/* A temporary of f32 for a plain tensor. */
static lk_status wide_temp(lk_planner *planner, const lk_tensor_desc *desc, lk_operand *out_operand,
                           lk_error *error) {
  lk_tensor_desc wide = *desc;
  wide.dtype = LK_F32;
  wide.layout = LK_LAYOUT_PLAIN;
  return lk_planner_temp(planner, &wide, out_operand, error);
}

lk_status lk_plan_wide(lk_planner *planner, lk_operand *inout, lk_error *error) {
  const lk_operand from = *inout;
  if (!is_half(from.desc.dtype)) return LK_OK;
  LK_RETURN_NOT_OK(wide_temp(planner, &from.desc, inout, error));
  return lk_planner_cast(planner, &from, inout, error);
}

lk_status lk_plan_wide_input(lk_planner *planner, uint32_t index, lk_operand *out_operand,
                             lk_error *error) {
  LK_RETURN_NOT_OK(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, out_operand, error));
  return lk_plan_wide(planner, out_operand, error);
}

lk_status lk_plan_wide_output(lk_planner *planner, uint32_t index, lk_operand *out_operand,
                              lk_error *error) {
  const lk_tensor_desc *to = &planner->outputs[index];
  return is_half(to->dtype)
             ? wide_temp(planner, to, out_operand, error)
             : lk_planner_output(planner, index, LK_LAYOUT_PLAIN, out_operand, error);
}

lk_status lk_plan_narrow(lk_planner *planner, uint32_t index, const lk_operand *wide,
                         lk_error *error) {
  lk_operand to;
  if (!is_half(planner->outputs[index].dtype)) return LK_OK;
  LK_RETURN_NOT_OK(lk_planner_output(planner, index, LK_LAYOUT_PLAIN, &to, error));
  return lk_planner_cast(planner, wide, &to, error);
}

void lk_broadcast_strides(const lk_tensor_desc *desc, uint32_t rank, int64_t unit,
                          int64_t strides[LK_MAX_RANK]) {
  int64_t own[LK_MAX_RANK];
  const uint32_t added = rank - desc->rank;
  lk_strides(desc, unit, own);
  for (uint32_t i = 0; i < rank; i++) {
    const bool is_repeated = i < added || desc->dims[i - added] == 1;
    strides[i] = is_repeated ? 0 : own[i - added];
  }
}
