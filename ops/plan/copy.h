/* Strided copies: what every data-moving operator boils down to. An operator fills in dimensions
 * and byte strides on both sides; the planner step moves the largest runs that they allow. */
#ifndef LK_OPS_PLAN_COPY_H
#define LK_OPS_PLAN_COPY_H

#include "ops/plan/planner.h"

typedef struct lk_copy {
  uint32_t rank;
  uint32_t reserved;
  size_t block; /* bytes that are moved together; the element size to begin with */
  int64_t dims[LK_MAX_RANK];
  int64_t from[LK_MAX_RANK], to[LK_MAX_RANK]; /* bytes between neighbours; `from` may be negative */
  int64_t from_offset, to_offset;             /* bytes */
} lk_copy;

/* Byte strides of a tensor in plain or channels-last layout, in the order of its dimensions. */
void lk_copy_strides(const lk_tensor_desc *desc, int64_t strides[LK_MAX_RANK]);

/* The layout in which an element-moving operator takes input `index`: its own where strides can
 * express it, else plain. */
lk_layout lk_copy_input_layout(lk_planner *planner, uint32_t index);
/* The layout in which it writes output `index`: the wish where strides can express it and the rank
 * allows it, `natural` without a wish, else plain. */
lk_layout lk_copy_output_layout(lk_planner *planner, uint32_t index, lk_layout natural);

/* A step that copies; `copy` need not be simplified. */
lk_status lk_plan_copy(lk_planner *planner, const lk_copy *copy, const lk_operand *from,
                       const lk_operand *to, lk_error *error);

/* Output 0 is input `index` unchanged, of the same shape: a view when the input lies plain, else a
 * copy that keeps the layout and does nothing when both pointers are equal. */
lk_status lk_plan_same(lk_planner *planner, uint32_t index, lk_error *error);

/* A step that fills an operand with `count` elements of `size` bytes (at most 8) equal to `value`. */
lk_status lk_plan_fill(lk_planner *planner, const lk_operand *to, int64_t count, size_t size,
                       const void *value, lk_error *error);

#endif
