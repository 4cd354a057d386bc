/* Operands of operators that take elements between others. */
#include "ops/plan/sampling.h"

#include "base/status.h"
#include "ops/plan/attention_steps.h"
#include "ops/plan/moves.h"

static bool is_half(const lk_operand *operand) {
  return operand->desc.dtype == LK_F16 || operand->desc.dtype == LK_BF16;
}

lk_status lk_plan_sampled_input(lk_planner *planner, uint32_t index, lk_operand *out,
                                lk_error *error) {
  LK_RETURN_NOT_OK(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, out, error));
  return is_half(out) ? lk_plan_wide(planner, out, error) : LK_OK;
}

lk_status lk_plan_sampled_output(lk_planner *planner, lk_operand *out, lk_operand *out_wide,
                                 lk_error *error) {
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, out, error));
  *out_wide = *out;
  if (!is_half(out)) return LK_OK;
  lk_tensor_desc wide = out->desc;
  wide.dtype = LK_F32;
  return lk_planner_temp(planner, &wide, out_wide, error);
}

lk_status lk_plan_sampled_end(lk_planner *planner, const lk_operand *wide, const lk_operand *to,
                              lk_error *error) {
  return is_half(to) ? lk_plan_cast(planner, wide, to, error) : LK_OK;
}
