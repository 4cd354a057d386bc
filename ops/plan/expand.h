/* Copying a tensor to the shape that it broadcasts to. */
#ifndef LK_OPS_PLAN_EXPAND_H
#define LK_OPS_PLAN_EXPAND_H

#include "ops/plan/planner.h"

/* A step that fills a new temporary with the dimensions and the layout of `like` from `from`, an
 * operand that broadcasts to it. Both lie plain or channels-last; `from` plain where its rank is
 * lower. */
lk_status lk_plan_expand(lk_planner *planner, const lk_operand *from, const lk_tensor_desc *like,
                         lk_operand *out_operand, lk_error *error);

#endif
