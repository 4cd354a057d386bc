/* Steps that move elements, and the layouts in which operators that move them work. */
#pragma once

#include "ops/plan/planner.h"

/* The layout in which an element-moving operator takes input `index`: its own where it is one of
 * the two fixed ones, which strides can express, else plain. */
lk_layout lk_fixed_input_layout(lk_planner *planner, uint32_t index);
/* The layout in which it writes output 0: the wish where it is fixed and the rank allows it,
 * `natural` without a wish, else plain. */
lk_layout lk_fixed_output_layout(lk_planner *planner, lk_layout natural);

/* Output 0 is input `index` unchanged, of the same shape: a view when the input lies plain, else a
 * copy that keeps the layout and does nothing when both pointers are equal. */
lk_status lk_plan_same(lk_planner *planner, uint32_t index, lk_error *error);

/* A step that repeats `size` bytes (at most LK_MAX_FILL) all over an operand: a multiple of
 * them. */
lk_status lk_plan_fill(lk_planner *planner, const lk_operand *to, size_t size, const void *value,
                       lk_error *error);

/* lk_strides of a tensor that broadcasts to one of `rank` dimensions: 0 where it is repeated. */
void lk_broadcast_strides(const lk_tensor_desc *desc, uint32_t rank, int64_t unit,
                          int64_t strides[LK_MAX_RANK]);
