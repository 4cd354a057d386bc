/* Steps that reduce dimensions. */
#include "ops/plan/reduction.h"

#include <stddef.h>

#include "base/status.h"
#include "ops/kernel/strides.h"
#include "ops/plan/moves.h"

lk_status lk_plan_reduce_step(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                              uint32_t mask, lk_reduce_kind kind, double factor, lk_error *error) {
  lk_reduce step;
  int64_t own[LK_MAX_RANK], strides[LK_MAX_RANK] = {0};
  const bool keeps = to->desc.rank == from->desc.rank;
  const lk_operand operands[] = {*from, *to};
  uint32_t next = 0;
  lk_strides(&to->desc, 1, own);
  for (uint32_t i = 0; i < from->desc.rank; i++) {
    const bool reduced = (mask >> i & 1) != 0;
    if (!reduced) strides[i] = own[next];
    if (!reduced || keeps) next++;
  }
  lk_reduce_plan(&from->desc, mask, strides, kind, factor, lk_isa_get(), &step);
  const size_t size =
      offsetof(lk_reduce, dims) + (step.n_kept + step.n_reduced) * sizeof step.dims[0];
  return lk_planner_kernel(planner, lk_reduce_kernel, "reduce", &step, size, operands, 2, error);
}

lk_status lk_plan_reduction(lk_planner *planner, uint32_t mask, lk_reduce_kind kind, double factor,
                            lk_error *error) {
  const lk_tensor_desc *to = &planner->outputs[0];
  lk_operand from, result;
  const lk_layout layout = lk_fixed_input_layout(planner, 0);
  const lk_layout natural = to->rank == planner->inputs[0].desc.rank ? layout : LK_LAYOUT_PLAIN;
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &from, error));
  LK_RETURN_NOT_OK(
      lk_planner_output(planner, 0, lk_fixed_output_layout(planner, natural), &result, error));
  return lk_plan_reduce_step(planner, &from, &result, mask, kind, factor, error);
}
