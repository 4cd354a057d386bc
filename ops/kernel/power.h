/* Powers whose exponents have another type than their bases. Plain layout, with broadcasting. Those
 * of one type are element programs (element.h). */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef struct lk_power {
  uint32_t a_dtype, b_dtype;
  uint32_t rank;
  uint32_t reserved;
  int64_t dims[LK_MAX_RANK];              /* of the result, which is dense */
  int64_t a[LK_MAX_RANK], b[LK_MAX_RANK]; /* strides in elements, 0 where it is broadcast */
} lk_power;

/* Both are integer types, f32 or f64. */
bool lk_power_is_supported(uint32_t a_dtype, uint32_t b_dtype);

/* Makes the dimensions as few as the strides allow. To be called once, before the kernel. */
void lk_power_simplify(lk_power *self);

/* Params: lk_power. Pointers: bases, exponents, the result, of the bases' type. Integers to
 * integers wrap around; 0 to a negative power is LK_INVALID_ARGUMENT. */
lk_status lk_power_kernel(const void *params, void *const *pointers, lk_error *error);
