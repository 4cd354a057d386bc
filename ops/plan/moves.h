/* Steps that move elements, and the layouts in which operators that move them work. */
#pragma once

#include "ops/plan/planner.h"

/* The layout in which an operator takes input `index`, an image, that has kernels for channels that
 * come last: its own where they do, else plain. */
lk_layout lk_image_layout(lk_planner *planner, uint32_t index);
/* The same for one that reads rows, the last dimension, wherever they lie: its own where the heads
 * are inside and that makes a difference, else plain. */
lk_layout lk_rows_layout(lk_planner *planner, uint32_t index);
/* The layout in which an operator whose kernel goes by strides writes output 0: the wish where the
 * rank allows it, `natural` without a wish, else plain. */
lk_layout lk_strided_output_layout(lk_planner *planner, lk_layout natural);

/* All elements of `from`, to their places in `to`, whose dimension i is dimension order[i] of
 * `from`. */
lk_copy lk_copy_ordered(const lk_tensor_desc *from, const lk_tensor_desc *to, const uint8_t *order);
/* Whether dimensions other than 1 have the same strides on both sides. */
bool lk_copy_moves_nothing(const lk_copy *copy);

/* A step that puts operands, LK_CONCAT_SOURCES at most, one behind the other along `axis`. All of
 * them, and `to`, lie in one layout, and have elements. */
lk_status lk_plan_concat_blocks(lk_planner *planner, const lk_operand *from, uint32_t count,
                                uint32_t axis, const lk_operand *to, lk_error *error);

/* Output 0 in `to_layout` has the bytes of input `index` in `from_layout`: emits a copy
 * that does nothing when the pointers are equal, and tells the executor. An input or output that
 * has to be reordered is no view. */
lk_status lk_plan_view(lk_planner *planner, uint32_t index, lk_layout from_layout,
                       lk_layout to_layout, lk_error *error);

/* Output 0 is input `index` unchanged, of the same shape: a view. */
lk_status lk_plan_same(lk_planner *planner, uint32_t index, lk_error *error);

/* A plain operand of f16 or bf16 as f32, by a cast into a temporary; others stay. */
lk_status lk_plan_wide(lk_planner *planner, lk_operand *inout, lk_error *error);
/* Input `index`, plain; f16 and bf16 as f32, by a cast into a temporary. */
lk_status lk_plan_wide_input(lk_planner *planner, uint32_t index, lk_operand *out_operand,
                             lk_error *error);
/* Where an operator that computes in those types writes output `index`, plain: the output, or a
 * temporary, which lk_plan_narrow rounds to the output when the operator has finished. */
lk_status lk_plan_wide_output(lk_planner *planner, uint32_t index, lk_operand *out_operand,
                              lk_error *error);
lk_status lk_plan_narrow(lk_planner *planner, uint32_t index, const lk_operand *wide,
                         lk_error *error);

/* A step that repeats `size` bytes (at most LK_MAX_FILL) all over an operand: a multiple of
 * them. */
lk_status lk_plan_fill(lk_planner *planner, const lk_operand *to, size_t size, const void *value,
                       lk_error *error);

/* lk_strides of a tensor that broadcasts to one of `rank` dimensions: 0 where it is repeated. */
void lk_broadcast_strides(const lk_tensor_desc *desc, uint32_t rank, int64_t unit,
                          int64_t strides[LK_MAX_RANK]);
