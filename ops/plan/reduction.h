/* Steps that reduce dimensions, or go along one. */
#pragma once

#include "ops/kernel/element/element_program.h"
#include "ops/kernel/reduce/along.h"
#include "ops/kernel/reduce/reduce.h"
#include "ops/plan/pattern.h"
#include "ops/plan/planner.h"

/* `to`: the dimensions of `from` that are kept, and maybe 1 for each other one. */
lk_reduce lk_make_reduce(const lk_tensor_desc *from, const lk_tensor_desc *to, uint32_t mask,
                         const lk_reduction *reduction);

/* Output 0 of the dimensions of `from`, an input in one of the two fixed layouts, that are not in
 * `mask` (a bit each); those that are may be left out, or have size 1. `to` is output 0 too, or a
 * temporary of its dimensions. */
lk_status lk_plan_reduce_step(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                              uint32_t mask, const lk_reduction *reduction, lk_error *error);

/* The same memory as other dimensions. */
lk_operand lk_operand_seen_as(const lk_operand *operand, uint32_t rank, const int64_t *dims);

/* A whole plan: output 0 is input 0 reduced over the dimensions of `mask`.
 * The result has the input's layout where all dimensions are kept. */
lk_status lk_plan_reduction(lk_planner *planner, uint32_t mask, const lk_reduction *reduction,
                            lk_error *error);

/* The step of such a plan for other sizes, as lk_op_class.resize. */
bool lk_resize_reduction(const lk_resizing *self, uint32_t mask, const lk_reduction *reduction);

/* A real number (f64) as a value of the integer type: cut toward zero, and the largest where it is
 * above that. NaN and what is too small are as a cast leaves them, the least of the signed. */
lk_element_value lk_element_held(lk_element_program *program, lk_element_value real,
                                 uint32_t dtype);

/* Steps: the logarithm of the sum of e^x, over the dimensions of `mask` of `from`, as `to`; both
 * lie plain. */
lk_status lk_plan_log_sum_exp(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                              uint32_t mask, lk_error *error);

/* A step: Softmax of `from` as `to`, of f32 or of what lk_softmax can of f64, or its logarithm,
 * along the middle one of three dimensions of what lies in memory. They may be one tensor. */
lk_status lk_plan_softmax(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                          const int64_t dims[3], bool is_last, bool is_log, lk_error *error);

/* A step or some: Softmax of `from` as `to`, of f64, or its logarithm, along the middle one of
 * three dimensions. */
lk_status lk_plan_softmax_steps(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                                const int64_t dims[3], bool is_log, lk_error *error);

/* A whole plan: a kernel of along.h on input 0, along `axis`. The second part of `step` is set
 * here, with type and sizes. */
lk_status lk_plan_along(lk_planner *planner, lk_kernel_fn kernel, const char *kind, int64_t axis,
                        lk_along *step, lk_error *error);
