/* Copying a tensor to the shape that it broadcasts to. */
#include "ops/plan/expand.h"

#include <string.h>

#include "base/tensor.h"
#include "ops/plan/copy.h"

lk_status lk_plan_expand(lk_planner *planner, const lk_operand *from, const lk_tensor_desc *like,
                         lk_operand *out_operand, lk_error *error) {
  const lk_tensor_desc padded = lk_shape_pad_rank(&from->desc, like->rank);
  lk_tensor_desc full = *like;
  full.dtype = from->desc.dtype;
  lk_copy copy = {.block = lk_dtype_size(full.dtype), .rank = full.rank};
  memcpy(copy.dims, full.dims, sizeof copy.dims);
  lk_copy_strides(&padded, copy.from);
  lk_copy_strides(&full, copy.to);
  for (uint32_t i = 0; i < full.rank; i++) {
    if (padded.dims[i] == 1) copy.from[i] = 0; /* repeated */
  }
  lk_status status = lk_planner_temp(planner, &full, out_operand, error);
  return status == LK_OK ? lk_plan_copy(planner, &copy, from, out_operand, error) : status;
}
