/* From the steps of an element program to calls of loops: a part of planning. */
#pragma once

#include "ops/kernel/element.h"

/* How an input lies in a block. */
typedef struct lk_element_lie {
  int64_t stride;        /* bytes from element to element */
  uint8_t level;         /* lk_element_level */
  bool is_along_columns; /* elements of 4 bytes lie side by side from row to row */
  bool repeats;          /* a short row stands for all: better copied out than read row by row */
  bool is_fixed;         /* the same row for all blocks */
} lk_element_lie;

/* Sets everything of `out` but blocks, places of registers, and what lies behind the numbers.
 * `lies`: of inputs and then outputs. */
lk_status lk_element_compile(const lk_element_program *program, const lk_element_lie *lies,
                             lk_element *out, lk_error *error);
