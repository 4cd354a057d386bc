/* Powers whose exponents have another type than their bases: one element at a time. */
#include "ops/kernel/power.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/number.h"
#include "ops/kernel/strides.h"

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

/* The innermost dimension. False: 0 to a negative power. */
static bool pow_row(const lk_power *self, const char *a, const char *b, char *to) {
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

static bool is_number(uint32_t dtype) {
  switch (dtype) {
#define YES(dtype, suffix, type) case dtype:
    LK_EACH_INTEGER(YES)
#undef YES
  case LK_F32:
  case LK_F64:
    return true;
  default:
    return false;
  }
}
bool lk_power_is_supported(uint32_t a_dtype, uint32_t b_dtype) {
  return is_number(a_dtype) && is_number(b_dtype);
}

void lk_power_simplify(lk_power *self) {
  self->rank = lk_merge_dims(self->rank, self->dims, self->a, self->b);
  if (self->rank > 0) return;
  self->rank = 1;
  self->dims[0] = 1;
}

lk_status lk_power_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_power *self = params;
  const char *a = pointers[0], *b = pointers[1];
  char *to = pointers[2];
  const int64_t a_size = (int64_t)lk_dtype_size(self->a_dtype);
  const int64_t b_size = (int64_t)lk_dtype_size(self->b_dtype);
  const uint32_t last = self->rank - 1;
  int64_t at[LK_MAX_RANK] = {0};
  for (;;) {
    if (!pow_row(self, a, b, to)) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to compute on integers: 0 to a negative power has no value");
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
