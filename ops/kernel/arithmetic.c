/* Element-wise arithmetic that oneDNN does not do: integers, f64, and powers. */
#include "ops/kernel/arithmetic.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/number.h"
#include "ops/kernel/strides.h"

/* Computes along the innermost dimension; steps are in elements, 0 where an operand is broadcast.
 * False: an integer was divided by zero. */
typedef bool row_fn(const void *a, int64_t a_step, const void *b, int64_t b_step, void *to,
                    int64_t count);

/* ---- rows: name, type, what to compute of x and y ---- */

#define ROW(name, type, expression)                                                                \
  static bool name(const void *a, int64_t a_step, const void *b, int64_t b_step, void *to,         \
                   int64_t count) {                                                                \
    for (int64_t i = 0; i < count; i++) {                                                          \
      type x = ((const type *)a)[i * a_step];                                                      \
      type y = ((const type *)b)[i * b_step];                                                      \
      ((type *)to)[i] = (type)(expression);                                                        \
    }                                                                                              \
    return true;                                                                                   \
  }

/* Through uint64_t arithmetic wraps around for every width, signed or not. Division by -1 is a case
 * of its own, because it overflows for the least value. */
#define INTEGER_ROWS(dtype, suffix, type)                                                          \
  ROW(add_##suffix, type, (uint64_t)x + (uint64_t)y)                                               \
  ROW(sub_##suffix, type, (uint64_t)x - (uint64_t)y)                                               \
  ROW(mul_##suffix, type, (uint64_t)x *(uint64_t)y)                                                \
  static bool div_##suffix(const void *a, int64_t a_step, const void *b, int64_t b_step, void *to, \
                           int64_t count) {                                                        \
    for (int64_t i = 0; i < count; i++) {                                                          \
      const type x = ((const type *)a)[i * a_step];                                                \
      const type y = ((const type *)b)[i * b_step];                                                \
      if (y == 0) return false;                                                                    \
      const bool negates = LK_IS_SIGNED(type) && y == (type)-1;                                    \
      ((type *)to)[i] = (type)(negates ? 0 - (uint64_t)x : (uint64_t)(x / y));                     \
    }                                                                                              \
    return true;                                                                                   \
  }

LK_EACH_INTEGER(INTEGER_ROWS)
ROW(add_f64, double, x + y)
ROW(sub_f64, double, x - y)
ROW(mul_f64, double, x *y)
ROW(div_f64, double, x / y)
ROW(pow_f32, float, powf(x, y))
ROW(pow_f64, double, pow(x, y))

/* The rows of a type, by operation; NULL: it has none. */
static row_fn *const *rows_of(uint32_t dtype) {
  switch (dtype) {
#define ROWS(dtype, s, type)                                                                       \
  case dtype: {                                                                                    \
    static row_fn *const of_##s[] = {add_##s, sub_##s, mul_##s, div_##s};                          \
    return of_##s;                                                                                 \
  }
    LK_EACH_INTEGER(ROWS)
    ROWS(LK_F64, f64, double)
#undef ROWS
  default:
    return NULL;
  }
}

/* ---- powers of mixed types: one element at a time ---- */

/* An element: its value, and for an integer type also its low 64 bits. */
typedef struct number {
  bool is_whole;
  uint64_t bits;
  double value;
} number;

static number read_number(uint32_t dtype, const void *at) {
  switch (dtype) {
#define READ(dtype, suffix, type)                                                                  \
  case dtype: {                                                                                    \
    const type value = *(const type *)at;                                                          \
    return (number){.is_whole = true, .bits = (uint64_t)value, .value = (double)value};            \
  }
    LK_EACH_INTEGER(READ)
#undef READ
  case LK_F64:
    return (number){.value = *(const double *)at};
  default:
    return (number){.value = (double)*(const float *)at};
  }
}

/* The low bits are the same for every width that is at most 64. */
static void write_integer(uint32_t dtype, void *at, uint64_t bits) {
  memcpy(at, &bits, lk_dtype_size(dtype)); /* little-endian: the low bytes come first */
}

/* A whole base to a whole power wraps around like repeated multiplication. A negative power is
 * 1 / base^-n toward zero: 0 except for the bases 1 and -1. */
static bool integer_pow(number base, number exponent, uint64_t *out) {
  if (exponent.value < 0) {
    if (base.bits == 0) return false;
    const bool minus_one = base.value == -1;
    *out = base.bits == 1 ? 1 : minus_one ? ((exponent.bits & 1) != 0 ? UINT64_MAX : 1) : 0;
    return true;
  }
  uint64_t result = 1, factor = base.bits;
  for (uint64_t n = exponent.bits; n > 0; n >>= 1) {
    if ((n & 1) != 0) result *= factor;
    factor *= factor;
  }
  *out = result;
  return true;
}

/* The innermost dimension of a power whose operands are of different types, or integers. */
static bool pow_row(const lk_arithmetic *self, const char *a, const char *b, char *to) {
  const uint32_t last = self->rank - 1;
  const int64_t a_size = (int64_t)lk_dtype_size(self->a_dtype);
  const int64_t b_size = (int64_t)lk_dtype_size(self->b_dtype);
  for (int64_t i = 0; i < self->dims[last]; i++) {
    const number base = read_number(self->a_dtype, a + i * self->a[last] * a_size);
    const number exponent = read_number(self->b_dtype, b + i * self->b[last] * b_size);
    char *at = to + i * a_size;
    if (self->a_dtype == LK_F32) {
      *(float *)(void *)at = (float)pow(base.value, exponent.value);
    } else if (self->a_dtype == LK_F64) {
      *(double *)(void *)at = pow(base.value, exponent.value);
    } else if (exponent.is_whole) {
      uint64_t bits;
      if (!integer_pow(base, exponent, &bits)) return false;
      write_integer(self->a_dtype, at, bits);
    } else {
      const double value = pow(base.value, exponent.value);
      const bool wide = self->a_dtype == LK_U64;
      write_integer(self->a_dtype, at,
                    wide ? lk_f64_to_u64(value) : (uint64_t)lk_f64_to_i64(value));
    }
  }
  return true;
}

/* ---- the kernel ---- */

bool lk_arithmetic_is_supported(lk_arithmetic_op op, uint32_t a_dtype, uint32_t b_dtype) {
  if (op != LK_POW) return a_dtype == b_dtype && rows_of(a_dtype) != NULL;
  return (rows_of(a_dtype) != NULL || a_dtype == LK_F32) &&
         (rows_of(b_dtype) != NULL || b_dtype == LK_F32);
}

void lk_arithmetic_simplify(lk_arithmetic *self) {
  self->rank = lk_merge_dims(self->rank, self->dims, self->a, self->b);
  if (self->rank > 0) return;
  self->rank = 1;
  self->dims[0] = 1;
}

/* The function for a row; NULL: pow_row. */
static row_fn *row_for(const lk_arithmetic *self) {
  if (self->op != LK_POW) return rows_of(self->a_dtype)[self->op];
  if (self->a_dtype != self->b_dtype) return NULL;
  return self->a_dtype == LK_F32 ? pow_f32 : self->a_dtype == LK_F64 ? pow_f64 : NULL;
}

lk_status lk_arithmetic_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_arithmetic *self = params;
  const char *a = pointers[0], *b = pointers[1];
  char *to = pointers[2];
  const int64_t a_size = (int64_t)lk_dtype_size(self->a_dtype);
  const int64_t b_size = (int64_t)lk_dtype_size(self->b_dtype);
  const uint32_t last = self->rank - 1;
  row_fn *row = row_for(self);
  int64_t at[LK_MAX_RANK] = {0};
  for (;;) {
    const bool has_value = row != NULL
                               ? row(a, self->a[last], b, self->b[last], to, self->dims[last])
                               : pow_row(self, a, b, to);
    if (!has_value) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "failed to compute on integers: %s, no value",
                     self->op != LK_POW ? "division by 0" : "0 to a negative power");
    }
    to += self->dims[last] * a_size; /* the result has the type of `a` */
    uint32_t i = last;
    for (; i > 0; i--) {
      const uint32_t k = i - 1;
      a += self->a[k] * a_size;
      b += self->b[k] * b_size;
      if (++at[k] < self->dims[k]) break;
      a -= self->a[k] * self->dims[k] * a_size;
      b -= self->b[k] * self->dims[k] * b_size;
      at[k] = 0;
    }
    if (i == 0) return LK_OK;
  }
}
