/* Steps that normalize rows. */
#include "ops/plan/norm_steps.h"

#include "base/status.h"

enum { FLOPS = 8 }; /* of an element: sums, a difference, products */

lk_status lk_plan_norm(lk_planner *planner, lk_norm *step, const lk_operand *operands,
                       uint32_t n_operands, lk_error *error) {
  step->row = lk_row_loops_get(lk_isa_get())->norm_row;
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_norm_kernel, "norm", step, sizeof *step, operands,
                                     n_operands, error));
  const double elements = (double)step->rows * (double)step->n;
  lk_planner_work(planner, FLOPS * elements, 2 * sizeof(float) * elements);
  return LK_OK;
}
