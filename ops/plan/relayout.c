/* Inputs in another layout, for element types that oneDNN has not. */
#include "ops/plan/relayout.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/copy.h"

lk_status lk_plan_input_as(lk_planner *planner, uint32_t index, lk_layout layout,
                           lk_operand *out_operand, lk_error *error) {
  const lk_tensor_desc *desc = &lk_planner_input_tensor(planner, index)->desc;
  if (lk_dnnl_type(desc->dtype) != dnnl_data_type_undef ||
      lk_layout_same_bytes(desc, desc->layout, layout)) {
    return lk_planner_input(planner, index, layout, out_operand, error);
  }
  lk_status status = LK_OK;
  lk_operand from;
  lk_tensor_desc wanted = *desc;
  lk_copy copy = {.rank = desc->rank, .block = lk_dtype_size(desc->dtype)};
  wanted.layout = layout;
  LK_TRY(lk_planner_input(planner, index, desc->layout, &from, error));
  LK_TRY(lk_planner_temp(planner, &wanted, out_operand, error));
  memcpy(copy.dims, desc->dims, sizeof copy.dims);
  lk_copy_strides(desc, copy.from);
  lk_copy_strides(&wanted, copy.to);
  LK_TRY(lk_plan_copy(planner, &copy, &from, out_operand, error));
cleanup:
  return status;
}
