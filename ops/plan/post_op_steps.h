/* Post-ops as steps of element programs. */
#pragma once

#include "ops/kernel/element_program.h"
#include "ops/plan/op.h"

/* The step that a post-op is, and its numbers. */
lk_element_op lk_post_op_step(const lk_post_op *post_op, float *out_p, float *out_q);

/* `value` with the post-op applied to it. `operand`: of a binary one; else it is not read. */
lk_element_value lk_post_op_append(lk_element_program *program, const lk_post_op *post_op,
                                   lk_element_value value, lk_element_value operand);
