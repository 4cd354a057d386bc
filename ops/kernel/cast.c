/* Conversion between element types. Elements go through one of three wide types in chunks, which
 * are exact for what they hold: int64_t for integers, uint64_t for u64, double for floating
 * point. */
#include "ops/kernel/cast.h"

#include <stdbool.h>

#include "base/tensor.h"
#include "ops/kernel/number.h"

enum { CHUNK = 256 };
typedef union wide {
  int64_t i[CHUNK];
  uint64_t u[CHUNK];
  double f[CHUNK];
} wide;

typedef enum wide_kind { WIDE_I, WIDE_U, WIDE_F } wide_kind;

static wide_kind kind_of(uint32_t dtype) {
  const bool is_float = dtype == LK_F32 || dtype == LK_F64 || dtype == LK_F16 || dtype == LK_BF16;
  return is_float ? WIDE_F : dtype == LK_U64 ? WIDE_U : WIDE_I;
}

/* dtype, its C type, the member of its wide type, element x in it, and as an element: x of one of
 * the integer types, which keeps its low bits, and x of double. Small integers come from double by
 * way of i32. */
#define EACH_TYPE(X)                                                                               \
  X(LK_F32, float, f, x, x, x)                                                                     \
  X(LK_F64, double, f, x, x, x)                                                                    \
  X(LK_F16, uint16_t, f, lk_f16_to_f64(x), lk_f64_to_f16((double)x), lk_f64_to_f16(x))             \
  X(LK_BF16, uint16_t, f, lk_bf16_to_f64(x), lk_f64_to_bf16((double)x), lk_f64_to_bf16(x))         \
  X(LK_U64, uint64_t, u, x, x, lk_f64_to_u64(x))                                                   \
  X(LK_I64, int64_t, i, x, x, lk_f64_to_i64(x))                                                    \
  X(LK_I32, int32_t, i, x, x, lk_f64_to_i32(x))                                                    \
  X(LK_I16, int16_t, i, x, x, lk_f64_to_i32(x))                                                    \
  X(LK_I8, int8_t, i, x, x, lk_f64_to_i32(x))                                                      \
  X(LK_U32, uint32_t, i, x, x, lk_f64_to_i64(x))                                                   \
  X(LK_U16, uint16_t, i, x, x, lk_f64_to_i32(x))                                                   \
  X(LK_U8, uint8_t, i, x, x, lk_f64_to_i32(x))                                                     \
  X(LK_BOOL, uint8_t, i, x != 0, x != 0, x != 0)

#define LOAD(dtype, type, member, widened, from_integer, from_float)                               \
  case dtype:                                                                                      \
    for (size_t k = 0; k < count; k++) {                                                           \
      type x = ((const type *)from)[k];                                                            \
      to->member[k] = (widened);                                                                   \
    }                                                                                              \
    break;

static void load(uint32_t dtype, const void *from, wide *to, size_t count) {
  switch (dtype) {
    EACH_TYPE(LOAD)
  default:
    break;
  }
}

#define STORE_EACH(type, member, expression)                                                       \
  for (size_t k = 0; k < count; k++) {                                                             \
    __typeof__(from->member[0]) x = from->member[k];                                               \
    ((type *)to)[k] = (type)(expression);                                                          \
  }                                                                                                \
  break;

#define STORE(dtype, type, member, widened, from_integer, from_float)                              \
  case dtype:                                                                                      \
    switch (kind) {                                                                                \
    case WIDE_I:                                                                                   \
      STORE_EACH(type, i, from_integer)                                                            \
    case WIDE_U:                                                                                   \
      STORE_EACH(type, u, from_integer)                                                            \
    case WIDE_F:                                                                                   \
      STORE_EACH(type, f, from_float)                                                              \
    }                                                                                              \
    break;

static void store(uint32_t dtype, wide_kind kind, const wide *from, void *to, size_t count) {
  switch (dtype) {
    EACH_TYPE(STORE)
  default:
    break;
  }
}

lk_status lk_cast_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_cast *self = params;
  const size_t from_size = lk_dtype_size(self->from), to_size = lk_dtype_size(self->to);
  const char *from = pointers[0];
  char *to = pointers[1];
  const wide_kind kind = kind_of(self->from);
  wide chunk;
  for (size_t i = 0; i < self->count; i += CHUNK) {
    const size_t count = self->count - i < CHUNK ? self->count - i : CHUNK;
    load(self->from, from + i * from_size, &chunk, count);
    store(self->to, kind, &chunk, to + i * to_size, count);
  }
  return LK_OK;
}
