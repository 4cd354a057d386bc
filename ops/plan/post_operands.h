/* Operands of binary post-ops: what they must be, and how they are described to oneDNN. */
#ifndef LK_OPS_PLAN_POST_OPERANDS_H
#define LK_OPS_PLAN_POST_OPERANDS_H

#include "ops/plan/planner.h"

/* They must be there, of f32, and broadcast to output 0, which is of f32 too. */
lk_status lk_post_operands_check(lk_planner *planner, lk_error *error);

/* Finds or builds the primitive of the key. oneDNN has no kernel for some broadcasts of an operand:
 * then it is the one that takes all operands in full shape, if there is a kernel for that. */
lk_status lk_post_operands_primitive(lk_ops_env *env, const lk_key *key, lk_ref **out_ref,
                                     lk_error *error);

/* The argument for the operand of post-op `index`, a binary one, in the shape that the primitive was
 * built for: as it is, or copied to full shape first. `dst`: as in lk_planner_execute. */
lk_status lk_post_operand(lk_planner *planner, const lk_primitive *primitive, uint32_t index,
                          const lk_tensor_desc *dst, lk_primitive_arg *out_arg, lk_error *error);

#endif
