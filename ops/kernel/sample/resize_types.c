/* Elements of any type as the numbers that interpolation computes with, and back. */
#include "ops/kernel/sample/resize_types.h"

#include <emmintrin.h>
#include <stdbool.h>

#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/element/element_program.h"
#include "ops/kernel/number.h"

/* To the nearest, ties to even; from 2^53 on every number is whole. */
static inline int64_t nearest(double x) {
  return _mm_cvtsd_si64(_mm_set_sd(x));
}
static inline uint64_t nearest_u64(double x) {
  return x < 0x1p63 ? (uint64_t)nearest(x) : (uint64_t)x;
}

/* `low` and `high` are exact in double, `over` is the integer to take from `high` on. NaN: the
 * least. */
#define TO_INTEGER(type, low, high, over)                                                          \
  (!(x > (low)) ? (type)(low) : x >= (high) ? (type)(over) : (type)nearest((double)x))

/* dtype, its C type, the wide type, element x as a number, number x as an element */
#define EACH_TYPE(X)                                                                               \
  X(LK_F32, float, float, x, (float)x)                                                             \
  X(LK_F64, double, double, x, x)                                                                  \
  X(LK_F16, uint16_t, float, lk_f16_to_f32(x), lk_f32_to_f16(x))                                   \
  X(LK_BF16, uint16_t, float, (float)lk_bf16_to_f64(x), lk_f64_to_bf16((double)x))                 \
  X(LK_U8, uint8_t, float, (float)x, TO_INTEGER(uint8_t, 0, 255, 255))                             \
  X(LK_I8, int8_t, float, (float)x, TO_INTEGER(int8_t, -128, 127, 127))                            \
  X(LK_U16, uint16_t, float, (float)x, TO_INTEGER(uint16_t, 0, 65535, 65535))                      \
  X(LK_I16, int16_t, float, (float)x, TO_INTEGER(int16_t, -32768, 32767, 32767))                   \
  X(LK_I32, int32_t, double, (double)x, TO_INTEGER(int32_t, -0x1p31, 0x1p31 - 1, INT32_MAX))       \
  X(LK_U32, uint32_t, double, (double)x, TO_INTEGER(uint32_t, 0, 0x1p32 - 1, UINT32_MAX))          \
  X(LK_I64, int64_t, double, (double)x, TO_INTEGER(int64_t, -0x1p63, 0x1p63, INT64_MAX))           \
  X(LK_U64, uint64_t, double, (double)x, (!(x > 0) ? 0 : x >= 0x1p64 ? UINT64_MAX : nearest_u64(x)))

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
  static wide number_##dtype(const type *from, int64_t at) {                                       \
    const type x = from[at];                                                                       \
    return number;                                                                                 \
  }                                                                                                \
  static void sum_##dtype(const lk_resize_types_line *line, wide *to) {                            \
    const type *from = line->from;                                                                 \
    const wide *weights = line->weights;                                                           \
    int64_t at = line->first / line->inner, c = line->first % line->inner;                         \
    if (line->inner == 1 && line->taps == 2) { /* most are so */                                   \
      const int32_t *near = line->indices + at, *far = near + line->step;                          \
      const wide *of_near = weights + at, *of_far = of_near + line->step;                          \
      for (int64_t i = 0; i < line->count; i++) {                                                  \
        to[i] =                                                                                    \
            of_near[i] * number_##dtype(from, near[i]) + of_far[i] * number_##dtype(from, far[i]); \
      }                                                                                            \
      return;                                                                                      \
    }                                                                                              \
    for (int64_t i = 0; i < line->count; i++) {                                                    \
      wide sum = 0;                                                                                \
      for (int64_t t = 0; t < line->taps; t++) {                                                   \
        const int64_t tap = t * line->step + at;                                                   \
        sum += weights[tap] * number_##dtype(from, line->indices[tap] * line->inner + c);          \
        if (lk_look_after(t + 1, LK_LOOK_FEW)) return;                                             \
      }                                                                                            \
      to[i] = sum;                                                                                 \
      if (++c < line->inner) continue;                                                             \
      c = 0;                                                                                       \
      at++;                                                                                        \
    }                                                                                              \
  }
EACH_TYPE(SUM)
#undef SUM

#define SUM_CASE(dtype, type, wide, number, element)                                               \
  case dtype:                                                                                      \
    sum_##dtype(line, to);                                                                         \
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
    EACH_TYPE(SUM_CASE)
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

/* ---- types that f32 holds, on vectors ---- */

void lk_resize_moves_plan(lk_resize_moves *self, uint32_t dtype, lk_isa isa) {
  const lk_element_loops *loops = lk_element_loops_for(isa);
  const bool is_whole = lk_element_class_of(dtype) == LK_ELEMENT_I32,
             is_byte = lk_dtype_size(dtype) == 1;
  uint32_t widen = 0, narrow = 0;
  *self = (lk_resize_moves){.size = (int64_t)lk_dtype_size(dtype)};
  if (dtype == LK_F32 || lk_resize_wide(dtype) != LK_F32) return;
  self->widen[widen++] = is_byte ? loops->load_f32[dtype] : loops->load[dtype];
  if (is_whole && !is_byte) {
    self->widen[widen++] = loops->ops[LK_ELEMENT_TO_F32][LK_ELEMENT_I32].all;
  }
  if (is_whole) {
    const bool is_signed = dtype == LK_I8 || dtype == LK_I16;
    const double values = is_byte ? 256 : 65536;
    self->low = is_signed ? (float)(-values / 2) : 0;
    self->high = (float)(is_signed ? values / 2 - 1 : values - 1);
    self->narrow[narrow++] = loops->ops[LK_ELEMENT_ROUND][LK_ELEMENT_F32].all;
    self->narrow[narrow++] = loops->ops[LK_ELEMENT_SATURATE][LK_ELEMENT_F32].all;
    if (!is_byte) self->narrow[narrow++] = loops->ops[LK_ELEMENT_TO_I32][LK_ELEMENT_F32].all;
  }
  self->narrow[narrow++] = is_byte ? loops->store_f32[dtype] : loops->store[dtype];
}

void lk_resize_widen(const lk_resize_moves *self, const void *from, int64_t count, float *to) {
  lk_element_args args = {.to = {(char *)to, 0},
                          .a = {(char *)(uintptr_t)from, 0},
                          .rows = 1,
                          .cols = count,
                          .stride = self->size};
  for (uint32_t i = 0; i < LK_RESIZE_WIDENS && self->widen[i] != NULL; i++, args.a = args.to) {
    self->widen[i](&args);
  }
}

void lk_resize_narrow(const lk_resize_moves *self, float *from, int64_t count, void *to) {
  lk_element_args args = {.to = {(char *)from, 0},
                          .a = {(char *)from, 0},
                          .rows = 1,
                          .cols = count,
                          .stride = self->size,
                          .p = self->low,
                          .q = self->high};
  for (uint32_t i = 0; i < LK_RESIZE_NARROWS && self->narrow[i] != NULL; i++) {
    const bool is_last = i + 1 == LK_RESIZE_NARROWS || self->narrow[i + 1] == NULL;
    if (is_last) args.to.at = to;
    self->narrow[i](&args);
  }
}
