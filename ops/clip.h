/* Clip of the types that oneDNN has no element-wise functions for. */
#ifndef LK_OPS_CLIP_H
#define LK_OPS_CLIP_H

#include "ops/plan/planner.h"

/* Integers, f64, f16 and bf16. */
bool lk_clip_has_kernel(uint32_t dtype);

/* A step that computes y = min(max(x, low), high), all of one such type; x and y are of one layout
 * and may be the same memory. Where the operand `low` is NULL, `other_low` holds, or the type's
 * least finite value when it is below that; likewise `high`. */
lk_status lk_plan_clip_kernel(lk_planner *planner, const lk_operand *x, const lk_operand *y,
                              const lk_operand *low, const lk_operand *high, float other_low,
                              float other_high, lk_error *error);

#endif
