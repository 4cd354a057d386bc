/* Conversion between element types. */
#pragma once

#include "ops/kernel/kernel.h"

typedef struct lk_cast {
  uint32_t from, to; /* lk_dtype */
  size_t count;
} lk_cast;

/* Params: lk_cast. Pointers: from, to. Integers keep their low bits; floating-point values are cut
 * toward zero, and what is out of range comes out as number.h says; bool tells whether an element
 * is not 0. */
lk_status lk_cast_kernel(const void *params, void *const *pointers, lk_error *error);
