/* Inputs in another layout, for element types that oneDNN has not. */
#ifndef LK_OPS_PLAN_RELAYOUT_H
#define LK_OPS_PLAN_RELAYOUT_H

#include "ops/plan/planner.h"

/* Like lk_planner_input for plain or channels-last `layout`, of every element type: where oneDNN has
 * no such type, a strided copy takes the place of its reorder. */
lk_status lk_plan_input_as(lk_planner *planner, uint32_t index, lk_layout layout,
                           lk_operand *out_operand, lk_error *error);

#endif
