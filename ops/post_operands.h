/* Operands of binary post-ops: what they must be, and how they are described to oneDNN. */
#ifndef LK_OPS_POST_OPERANDS_H
#define LK_OPS_POST_OPERANDS_H

#include "ops/planner.h"

/* They must be there, of f32, and broadcast to output 0, which is of f32 too. */
lk_status lk_post_operands_check(lk_planner *planner, lk_error *error);

/* How input `index`, the operand of a binary post-op, is described beside `dst`. It broadcasts to
 * output 0, of which `dst` may be another description: a matrix of all rows, whose operands are full
 * tensors or single rows (matmul.c sees to it), or one with ones put in where a product takes a
 * vector. */
lk_tensor_desc lk_post_operand_desc(lk_planner *planner, uint32_t index, const lk_tensor_desc *dst);

#endif
