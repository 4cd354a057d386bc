/* Element-wise steps that several operators emit: element programs over output 0. */
#pragma once

#include <latchkey/engine.h>

#include "ops/kernel/element/element.h"
#include "ops/plan/pattern.h"
#include "ops/plan/planner.h"

/* A whole plan, while it is put together: `value` becomes output 0.
 *
 *   lk_chain chain;
 *   LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
 *   LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
 *   lk_chain_unary(&chain, LK_ELEMENT_RELU, 0, 0);
 *   return lk_chain_end(&chain, error);
 *
 * Operands are read where they lie, plain or channels-last, and repeated where they broadcast. What
 * is too long for one program becomes several, which lk_chain_binary and lk_chain_end see to. */
typedef struct lk_chain {
  lk_planner *planner;
  lk_element_program program;
  lk_element_value value;
  lk_operand to;
  lk_operand inputs[LK_ELEMENT_INPUTS]; /* of the program */
} lk_chain;

/* Output 0 gets the layout that is wished for, or that of an input of its shape. */
lk_status lk_chain_begin(lk_planner *planner, lk_chain *out_chain, lk_error *error);
/* One that writes `to` instead, whose value is still to be set. */
void lk_chain_begin_at(lk_planner *planner, const lk_operand *to, lk_chain *out_chain);
/* Input `index` of the node, which broadcasts to output 0: at most LK_ELEMENT_INPUTS of them. */
lk_status lk_chain_input(lk_chain *self, uint32_t index, lk_element_value *out_value,
                         lk_error *error);
/* The same for memory that is no input of the node. */
lk_element_value lk_chain_operand(lk_chain *self, const lk_operand *operand);
/* The same beside `value`, in another program where this one is full. Other values are lost. */
lk_status lk_chain_next_input(lk_chain *self, uint32_t index, lk_element_value *out_value,
                              lk_error *error);
/* value = op(value). */
void lk_chain_unary(lk_chain *self, lk_element_op op, float p, float q);
/* value = op(value, input `index`), as by lk_chain_next_input. */
lk_status lk_chain_binary(lk_chain *self, lk_element_op op, uint32_t index, lk_error *error);
/* The program alone, as a step. */
lk_status lk_chain_step(lk_chain *self, lk_error *error);
/* The node's post-ops, and the last program. */
lk_status lk_chain_end(lk_chain *self, lk_error *error);

/* lk_op_class.resize of plans that are one chain on inputs. */
bool lk_chain_resize(const lk_resizing *self);

/* A whole plan: all inputs of the operator, one after the other, by LK_POST_ADD, LK_FUNCTION_MAX or
 * LK_FUNCTION_MIN, or their mean by LK_POST_DIV: of more inputs than a work has operands. */
lk_status lk_plan_fold(lk_planner *planner, uint32_t function, lk_error *error);

/* Whether output 0, in `layout`, is written over input `index`, which has its size, but maybe other
 * strides: then nothing may be written before all is read. */
bool lk_lies_elsewhere_over(const lk_planner *planner, uint32_t index, lk_layout layout);

/* Makes `inout`, which has one value for each channel, an operand beside tensors of `rank`
 * dimensions, whose channels are dimension 1. */
void lk_put_beside(lk_operand *inout, uint32_t rank);

/* The node's post-ops from `first` on, as one step on `to`: output 0, which lies plain or
 * channels-last. None, where there are no more. */
lk_status lk_plan_post_ops(lk_planner *planner, uint32_t first, const lk_operand *to,
                           lk_error *error);

/* ---- for an input without elements and an output with some: there is nothing to compute but what
 * a reduction starts from ---- */

/* A whole plan: every element of output 0 is a sum of no elements, which is 0, plus that of input
 * `bias` for its channel (one f32 for each; -1: no bias), with the node's post-ops. */
lk_status lk_plan_sum_of_nothing(lk_planner *planner, int32_t bias, lk_error *error);

/* The same for means of no elements: 0 / 0, NaN, in the floating-point type that output 0 has. */
lk_status lk_plan_mean_of_nothing(lk_planner *planner, lk_error *error);

/* The same for a pooling whose windows have nothing but padding. LK_INVALID_ARGUMENT: the largest
 * of nothing. */
lk_status lk_plan_pooling_of_nothing(lk_planner *planner, lk_pooling pooling, lk_error *error);
