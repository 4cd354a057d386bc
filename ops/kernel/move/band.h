/* Matrices of which the part above or below a diagonal is left, and the rest 0. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_band {
  int64_t matrices, rows, cols;
  int64_t diagonal; /* -rows to cols: the column in row 0 where it is */
  size_t element;   /* bytes */
  bool upper;       /* what is on the diagonal and behind it is left, else what is before it too */
} lk_band;

/* Params: lk_band. Pointers: from, to, which may be equal. */
lk_status lk_band_kernel(const void *params, void *const *pointers, lk_error *error);
