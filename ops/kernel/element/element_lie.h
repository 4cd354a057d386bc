/* How operands of element programs lie in a block: what planning finds out first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How an input lies in a block. */
typedef struct lk_element_lie {
  int64_t stride;        /* bytes from element to element */
  uint8_t level;         /* lk_element_level */
  bool is_along_columns; /* elements of 4 bytes lie side by side from row to row */
  bool repeats;          /* a short row stands for all: better copied out than read row by row */
  bool is_fixed;         /* the same row for all blocks */
} lk_element_lie;
