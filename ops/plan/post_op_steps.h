/* Post-ops as steps of element programs. */
#pragma once

#include "ops/kernel/element/element_program.h"
#include "ops/plan/op.h"

enum { LK_POST_OP_STEPS = 2 }; /* of one post-op, at most */

/* How many steps lk_post_op_append adds. */
static inline uint32_t lk_post_op_steps(const lk_post_op *post_op) {
  return post_op->kind == LK_POST_ADD_SCALED ? LK_POST_OP_STEPS : 1;
}

/* The step that a post-op is, and its numbers. */
lk_element_op lk_post_op_step(const lk_post_op *post_op, float *out_p, float *out_q);

/* `value` with the post-op applied to it. `operand`: of a binary one; else it is not read. */
lk_element_value lk_post_op_append(lk_element_program *program, const lk_post_op *post_op,
                                   lk_element_value value, lk_element_value operand);
