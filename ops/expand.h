/* Copying a tensor to the shape that it broadcasts to. */
#ifndef LK_OPS_EXPAND_H
#define LK_OPS_EXPAND_H

#include "ops/planner.h"

/* A step that fills a new temporary of shape `shape` (its dims; plain) from `from`, a plain operand
 * of the same type that broadcasts to it. */
lk_status lk_plan_expand(lk_planner *planner, const lk_operand *from, const lk_tensor_desc *shape,
                         lk_operand *out_operand, lk_error *error);

#endif
