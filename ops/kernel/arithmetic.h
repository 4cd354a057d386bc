/* Element-wise arithmetic that oneDNN does not do: integers, f64, and powers with any exponent.
 * Plain layout, with broadcasting. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

typedef enum lk_arithmetic_op { LK_ADD, LK_SUB, LK_MUL, LK_DIV, LK_POW } lk_arithmetic_op;

typedef struct lk_arithmetic {
  uint32_t op; /* lk_arithmetic_op */
  uint32_t a_dtype, b_dtype;
  uint32_t rank;
  int64_t dims[LK_MAX_RANK];              /* of the result, which is dense */
  int64_t a[LK_MAX_RANK], b[LK_MAX_RANK]; /* strides in elements, 0 where it is broadcast */
} lk_arithmetic;

/* Both types must be the same integer type, or f64. A power takes f32 too, and an exponent of
 * another type. */
bool lk_arithmetic_is_supported(lk_arithmetic_op op, uint32_t a_dtype, uint32_t b_dtype);

/* Makes the dimensions as few as the strides allow. To be called once, before the kernel. */
void lk_arithmetic_simplify(lk_arithmetic *self);

/* Params: lk_arithmetic. Pointers: a, b, the result, of the type of `a`. Integers wrap around;
 * division truncates toward zero; division by zero, and zero to a negative power, are
 * LK_INVALID_ARGUMENT. */
lk_status lk_arithmetic_kernel(const void *params, void *const *pointers, lk_error *error);
