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
#define INTEGER_ROWS(suffix, type, minus_one)                                                      \
  ROW(add_##suffix, type, (uint64_t)x + (uint64_t)y)                                               \
  ROW(sub_##suffix, type, (uint64_t)x - (uint64_t)y)                                               \
  ROW(mul_##suffix, type, (uint64_t)x *(uint64_t)y)                                                \
  static bool div_##suffix(const void *a, int64_t a_step, const void *b, int64_t b_step, void *to, \
                           int64_t count) {                                                        \
    for (int64_t i = 0; i < count; i++) {                                                          \
      type x = ((const type *)a)[i * a_step];                                                      \
      type y = ((const type *)b)[i * b_step];                                                      \
      if (y == 0) return false;                                                                    \
      ((type *)to)[i] = (type)((minus_one) ? 0 - (uint64_t)x : (uint64_t)(x / y));                 \
    }                                                                                              \
    return true;                                                                                   \
  }

INTEGER_ROWS(i8, int8_t, y == -1)
INTEGER_ROWS(i16, int16_t, y == -1)
INTEGER_ROWS(i32, int32_t, y == -1)
INTEGER_ROWS(i64, int64_t, y == -1)
INTEGER_ROWS(u8, uint8_t, false)
INTEGER_ROWS(u16, uint16_t, false)
INTEGER_ROWS(u32, uint32_t, false)
INTEGER_ROWS(u64, uint64_t, false)
ROW(add_f64, double, x + y)
ROW(sub_f64, double, x - y)
ROW(mul_f64, double, x *y)
ROW(div_f64, double, x / y)
ROW(pow_f32, float, powf(x, y))
ROW(pow_f64, double, pow(x, y))

static const struct {
  uint32_t dtype;
  row_fn *rows[LK_POW];
} arithmetic[] = {
#define ARITHMETIC(dtype, s)                                                                       \
  {                                                                                                \
    dtype, {                                                                                       \
      add_##s, sub_##s, mul_##s, div_##s                                                           \
    }                                                                                              \
  }
    ARITHMETIC(LK_I8, i8),   ARITHMETIC(LK_I16, i16), ARITHMETIC(LK_I32, i32),
    ARITHMETIC(LK_I64, i64), ARITHMETIC(LK_U8, u8),   ARITHMETIC(LK_U16, u16),
    ARITHMETIC(LK_U32, u32), ARITHMETIC(LK_U64, u64), ARITHMETIC(LK_F64, f64),
#undef ARITHMETIC
};

/* The rows of a type, NULL: it has none. */
static row_fn *const *rows_of(uint32_t dtype) {
  for (size_t i = 0; i < sizeof arithmetic / sizeof arithmetic[0]; i++) {
    if (arithmetic[i].dtype == dtype) return arithmetic[i].rows;
  }
  return NULL;
}

/* ---- powers of mixed types: one element at a time ---- */

/* An element: its value, and for an integer type also its low 64 bits and its sign. */
typedef struct number {
  bool whole, negative;
  uint64_t bits;
  double value;
} number;

static number read_number(uint32_t dtype, const void *at) {
  number n = {.whole = true};
  int64_t value = 0;
  switch (dtype) {
  case LK_F32:
    return (number){.value = (double)*(const float *)at};
  case LK_F64:
    return (number){.value = *(const double *)at};
  case LK_U64:
    n.bits = *(const uint64_t *)at;
    n.value = (double)n.bits;
    return n;
  case LK_I64:
    value = *(const int64_t *)at;
    break;
  case LK_I32:
    value = *(const int32_t *)at;
    break;
  case LK_I16:
    value = *(const int16_t *)at;
    break;
  case LK_I8:
    value = *(const int8_t *)at;
    break;
  case LK_U32:
    value = *(const uint32_t *)at;
    break;
  case LK_U16:
    value = *(const uint16_t *)at;
    break;
  default:
    value = *(const uint8_t *)at;
    break;
  }
  n.bits = (uint64_t)value;
  n.negative = value < 0;
  n.value = (double)value;
  return n;
}

/* The low bits are the same for every width that is at most 64. */
static void write_integer(uint32_t dtype, void *at, uint64_t bits) {
  memcpy(at, &bits, lk_dtype_size(dtype)); /* little-endian: the low bytes come first */
}

/* A whole base to a whole power wraps around like repeated multiplication. A negative power is
 * 1 / base^-n toward zero: 0 except for the bases 1 and -1. */
static bool integer_pow(number base, number exponent, uint64_t *out) {
  if (exponent.negative) {
    if (base.bits == 0) return false;
    bool minus_one = base.negative && base.bits == UINT64_MAX;
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
    } else if (exponent.whole) {
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
