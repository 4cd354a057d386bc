/* Plans for an input without elements and an output with some: oneDNN refuses most of them, and
 * there is nothing to compute but what a reduction starts from. */
#include "ops/empty.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/eltwise.h"
#include "ops/plan/copy.h"

/* Output 0 of repeated `byte`s. */
static lk_status fill_output(lk_planner *planner, uint8_t byte, lk_operand *out_to,
                             lk_error *error) {
  uint8_t value[8];
  memset(value, byte, sizeof value);
  const lk_layout layout = lk_copy_output_layout(planner, 0, LK_LAYOUT_PLAIN);
  lk_status status = lk_planner_output(planner, 0, layout, out_to, error);
  if (status != LK_OK) return status;
  return lk_plan_fill(planner, out_to, lk_elements(&out_to->desc),
                      lk_dtype_size(out_to->desc.dtype), value, error);
}

/* Output 0 of input `index`, repeated along all dimensions but the channels. */
static lk_status repeat_channels(lk_planner *planner, uint32_t index, lk_operand *out_to,
                                 lk_error *error) {
  lk_status status = LK_OK;
  lk_operand from;
  const lk_layout layout = lk_copy_output_layout(planner, 0, LK_LAYOUT_PLAIN);
  LK_TRY(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, &from, error));
  LK_TRY(lk_planner_output(planner, 0, layout, out_to, error));
  lk_copy copy = {.block = sizeof(float), .rank = out_to->desc.rank, .from[1] = sizeof(float)};
  memcpy(copy.dims, out_to->desc.dims, sizeof copy.dims);
  lk_copy_strides(&out_to->desc, copy.to);
  LK_TRY(lk_plan_copy(planner, &copy, &from, out_to, error));
cleanup:
  return status;
}

lk_status lk_plan_sum_of_nothing(lk_planner *planner, int32_t bias, lk_error *error) {
  lk_operand to;
  lk_status status = bias < 0 ? fill_output(planner, 0, &to, error)
                              : repeat_channels(planner, (uint32_t)bias, &to, error);
  return status == LK_OK ? lk_plan_post_ops(planner, &to, error) : status;
}

lk_status lk_plan_mean_of_nothing(lk_planner *planner, lk_error *error) {
  lk_operand to;
  /* all bits set are a quiet NaN in every format of IEEE 754, and in bf16 */
  lk_status status = fill_output(planner, 0xff, &to, error);
  return status == LK_OK ? lk_plan_post_ops(planner, &to, error) : status;
}
