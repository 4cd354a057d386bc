/* Element-wise arithmetic that oneDNN does not do, see integer.h. */
#include "ops/integer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/number.h"

/* One row along the innermost dimension: steps in elements, 0 where an operand is broadcast. False:
 * an integer was divided by zero. */
typedef bool row_fn(const void *a, int64_t a_step, const void *b, int64_t b_step, void *to,
                    int64_t count);

typedef struct binary_step {
  row_fn *row;
  uint32_t rank; /* at least 1 */
  uint32_t a_dtype, b_dtype;
  uint32_t a_size, b_size, to_size;
  int64_t dims[LK_MAX_RANK];
  int64_t a[LK_MAX_RANK], b[LK_MAX_RANK]; /* steps in elements */
} binary_step;

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

/* Through uint64_t arithmetic wraps around for every width, signed or not. -1 apart, because the
 * least value divided by it overflows. */
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
  row_fn *rows[LK_INTEGER_POW];
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

/* ---- powers of mixed types: one element at a time ---- */

/* An element as what it is: a whole number (its low 64 bits, and whether it is negative) or not. */
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
 * 1 / base^-n toward zero: 0 but for bases 1 and -1. */
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

static bool pow_row(const binary_step *step, const char *a, const char *b, char *to) {
  uint32_t last = step->rank - 1;
  for (int64_t i = 0; i < step->dims[last]; i++) {
    number base = read_number(step->a_dtype, a + i * step->a[last] * (int64_t)step->a_size);
    number exponent = read_number(step->b_dtype, b + i * step->b[last] * (int64_t)step->b_size);
    char *at = to + i * (int64_t)step->to_size;
    if (step->a_dtype == LK_F32) {
      *(float *)(void *)at = (float)pow(base.value, exponent.value);
    } else if (step->a_dtype == LK_F64) {
      *(double *)(void *)at = pow(base.value, exponent.value);
    } else if (exponent.whole) {
      uint64_t bits;
      if (!integer_pow(base, exponent, &bits)) return false;
      write_integer(step->a_dtype, at, bits);
    } else {
      double value = pow(base.value, exponent.value);
      bool wide = step->a_dtype == LK_U64;
      write_integer(step->a_dtype, at,
                    wide ? lk_f64_to_u64(value) : (uint64_t)lk_f64_to_i64(value));
    }
  }
  return true;
}

/* ---- the step ---- */

static lk_status binary_kernel(const void *params, void *const *pointers, lk_error *error) {
  const binary_step *step = params;
  const char *a = pointers[0], *b = pointers[1];
  char *to = pointers[2];
  uint32_t last = step->rank - 1;
  int64_t at[LK_MAX_RANK] = {0};
  for (;;) {
    bool done = step->row != NULL
                    ? step->row(a, step->a[last], b, step->b[last], to, step->dims[last])
                    : pow_row(step, a, b, to);
    if (!done) {
      return lk_fail(error, LK_INVALID_ARGUMENT, "failed to compute on integers: %s, no value",
                     step->row != NULL ? "division by 0" : "0 to a negative power");
    }
    to += step->dims[last] * (int64_t)step->to_size;
    uint32_t i = last;
    for (; i > 0; i--) {
      uint32_t k = i - 1;
      a += step->a[k] * (int64_t)step->a_size;
      b += step->b[k] * (int64_t)step->b_size;
      if (++at[k] < step->dims[k]) break;
      a -= step->a[k] * step->dims[k] * (int64_t)step->a_size;
      b -= step->b[k] * step->dims[k] * (int64_t)step->b_size;
      at[k] = 0;
    }
    if (i == 0) return LK_OK;
  }
}

/* Steps of an operand along the output's dimensions, 0 where it is broadcast. */
static void operand_steps(const lk_tensor_desc *desc, uint32_t rank, int64_t steps[LK_MAX_RANK]) {
  lk_tensor_desc padded = lk_shape_pad_rank(desc, rank);
  int64_t step = 1;
  for (uint32_t i = rank; i-- > 0;) {
    steps[i] = padded.dims[i] == 1 ? 0 : step;
    step *= padded.dims[i];
  }
}

/* Merges dimensions along which both operands go on as one. */
static void merge_dims(binary_step *step) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < step->rank; i++) {
    if (step->dims[i] == 1) continue;
    uint32_t last = rank - 1;
    if (rank > 0 && step->a[last] == step->a[i] * step->dims[i] &&
        step->b[last] == step->b[i] * step->dims[i]) {
      step->dims[last] *= step->dims[i];
    } else {
      last = rank++;
      step->dims[last] = step->dims[i];
    }
    step->a[last] = step->a[i];
    step->b[last] = step->b[i];
  }
  if (rank == 0) {
    step->dims[0] = 1;
    step->a[0] = step->b[0] = 0;
    rank = 1;
  }
  step->rank = rank;
}

static bool is_arithmetic(uint32_t dtype) {
  for (size_t i = 0; i < sizeof arithmetic / sizeof arithmetic[0]; i++) {
    if (arithmetic[i].dtype == dtype) return true;
  }
  return false;
}

static lk_status choose_row(binary_step *step, lk_integer_op op, lk_error *error) {
  bool is_pow = op == LK_INTEGER_POW;
  bool base = is_arithmetic(step->a_dtype) || (is_pow && step->a_dtype == LK_F32);
  bool other = is_pow ? is_arithmetic(step->b_dtype) || step->b_dtype == LK_F32
                      : step->b_dtype == step->a_dtype;
  if (!base || !other) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to compute on types %s and %s: integers or f64 are supported",
                   lk_dtype_name(step->a_dtype), lk_dtype_name(step->b_dtype));
  }
  if (is_pow) {
    bool same = step->a_dtype == step->b_dtype;
    if (same && step->a_dtype == LK_F32) step->row = pow_f32;
    if (same && step->a_dtype == LK_F64) step->row = pow_f64;
    return LK_OK;
  }
  for (size_t i = 0; i < sizeof arithmetic / sizeof arithmetic[0]; i++) {
    if (arithmetic[i].dtype == step->a_dtype) step->row = arithmetic[i].rows[op];
  }
  return LK_OK;
}

lk_status lk_plan_integer_binary(lk_planner *planner, lk_integer_op op, lk_error *error) {
  lk_status status = LK_OK;
  const lk_tensor_desc *a = &lk_planner_input_tensor(planner, 0)->desc;
  const lk_tensor_desc *b = &lk_planner_input_tensor(planner, 1)->desc;
  const lk_tensor_desc *to = lk_planner_output_desc(planner, 0);
  lk_operand operands[3];
  binary_step step = {.rank = to->rank,
                      .a_dtype = a->dtype,
                      .b_dtype = b->dtype,
                      .a_size = (uint32_t)lk_dtype_size(a->dtype),
                      .b_size = (uint32_t)lk_dtype_size(b->dtype),
                      .to_size = (uint32_t)lk_dtype_size(to->dtype)};
  LK_TRY(choose_row(&step, op, error));
  memcpy(step.dims, to->dims, sizeof step.dims);
  operand_steps(a, to->rank, step.a);
  operand_steps(b, to->rank, step.b);
  merge_dims(&step);
  LK_TRY(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_TRY(lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &operands[1], error));
  LK_TRY(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[2], error));
  LK_TRY(lk_planner_kernel(planner, binary_kernel, &step, sizeof step, operands, 3, error));
cleanup:
  return status;
}

lk_status lk_plan_pow_kernel(lk_planner *planner, lk_error *error) {
  return lk_plan_integer_binary(planner, LK_INTEGER_POW, error);
}
