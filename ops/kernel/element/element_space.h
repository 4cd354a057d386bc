/* The sizes that an element program runs over. */
#pragma once

#include "ops/kernel/element/element.h"

/* Dimensions from the outermost, and for each operand the strides in bytes. */
typedef struct lk_element_space {
  uint32_t rank; /* 1 .. */
  int64_t dims[LK_MAX_RANK];
  int64_t strides[LK_ELEMENT_OPERANDS][LK_MAX_RANK];
} lk_element_space;

/* As few dimensions as the strides allow, in the order of `leader`'s strides, so that rows are as
 * long as can be and lie side by side. None is 1, but for a space of one element. */
void lk_element_space_simplify(lk_element_space *self, uint32_t n_operands, uint32_t leader);
