/* Elements of any type as the numbers that interpolation computes with, and back. */
#include "ops/kernel/resize_types.h"

#include <math.h>
#include <stdbool.h>

#include "ops/kernel/number.h"

/* `low` and `high` are exact in double, `over` is the integer to take from `high` on. NaN: the
 * least. */
#define TO_INTEGER(type, low, high, over)                                                          \
  (!(x > (low)) ? (type)(low) : x >= (high) ? (type)(over) : (type)rint((double)x))

/* dtype, its C type, the wide type, element x as a number, number x as an element */
#define EACH_TYPE(X)                                                                               \
  X(LK_F32, float, float, x, (float)x)                                                             \
  X(LK_F64, double, double, x, x)                                                                  \
  X(LK_F16, uint16_t, float, (float)lk_f16_to_f64(x), lk_f64_to_f16((double)x))                    \
  X(LK_BF16, uint16_t, float, (float)lk_bf16_to_f64(x), lk_f64_to_bf16((double)x))                 \
  X(LK_U8, uint8_t, float, (float)x, TO_INTEGER(uint8_t, 0, 255, 255))                             \
  X(LK_I8, int8_t, float, (float)x, TO_INTEGER(int8_t, -128, 127, 127))                            \
  X(LK_U16, uint16_t, float, (float)x, TO_INTEGER(uint16_t, 0, 65535, 65535))                      \
  X(LK_I16, int16_t, float, (float)x, TO_INTEGER(int16_t, -32768, 32767, 32767))                   \
  X(LK_I32, int32_t, double, (double)x, TO_INTEGER(int32_t, -0x1p31, 0x1p31 - 1, INT32_MAX))       \
  X(LK_U32, uint32_t, double, (double)x, TO_INTEGER(uint32_t, 0, 0x1p32 - 1, UINT32_MAX))          \
  X(LK_I64, int64_t, double, (double)x, TO_INTEGER(int64_t, -0x1p63, 0x1p63, INT64_MAX))           \
  X(LK_U64, uint64_t, double, (double)x, TO_INTEGER(uint64_t, 0, 0x1p64, UINT64_MAX))

uint32_t lk_resize_wide(uint32_t dtype) {
  switch (dtype) {
#define WIDE(dtype, type, wide, number, element)                                                   \
  case dtype:                                                                                      \
    return sizeof(wide) == sizeof(float) ? LK_F32 : LK_F64;
    EACH_TYPE(WIDE)
#undef WIDE
  default:
    return LK_DTYPE_NONE;
  }
}

#define SUM(dtype, type, wide, number, element)                                                    \
  case dtype:                                                                                      \
    for (int64_t i = 0; i < line->count; i++) {                                                    \
      const int64_t at = (line->first + i) / line->inner, c = (line->first + i) % line->inner;     \
      wide sum = 0;                                                                                \
      for (int64_t t = 0; t < line->taps; t++) {                                                   \
        const int64_t tap = t * line->step + at;                                                   \
        const type x = ((const type *)line->from)[line->indices[tap] * line->inner + c];           \
        sum += ((const wide *)line->weights)[tap] * (number);                                      \
      }                                                                                            \
      ((wide *)to)[i] = sum;                                                                       \
    }                                                                                              \
    break;
#define WIDEN(dtype, type, wide, number, element)                                                  \
  case dtype:                                                                                      \
    for (int64_t i = 0; i < line->count; i++) {                                                    \
      const type x = ((const type *)line->from)[line->first + i];                                  \
      ((wide *)to)[i] = number;                                                                    \
    }                                                                                              \
    break;
#define NARROW(dtype, type, wide, number, element)                                                 \
  case dtype:                                                                                      \
    for (int64_t i = 0; i < count; i++) {                                                          \
      const wide x = ((const wide *)from)[i];                                                      \
      ((type *)to)[i] = (type)(element);                                                           \
    }                                                                                              \
    break;

static void widen(uint32_t dtype, const lk_resize_types_line *line, void *to) {
  switch (dtype) {
    EACH_TYPE(WIDEN)
  default:
    break;
  }
}

void lk_resize_types_sum(uint32_t dtype, const lk_resize_types_line *line, void *to) {
  if (line->taps == 0) {
    widen(dtype, line, to);
    return;
  }
  switch (dtype) {
    EACH_TYPE(SUM)
  default:
    break;
  }
}

void lk_resize_types_narrow(uint32_t dtype, const void *from, void *to, int64_t count) {
  switch (dtype) {
    EACH_TYPE(NARROW)
  default:
    break;
  }
}

void lk_resize_element(uint32_t dtype, double value, uint8_t bytes[8]) {
  const float in_f32 = (float)value;
  const bool is_f32 = lk_resize_wide(dtype) == LK_F32;
  bytes[0] = value != 0; /* of LK_BOOL, which is not interpolated */
  lk_resize_types_narrow(dtype, is_f32 ? (const void *)&in_f32 : &value, bytes, 1);
}
