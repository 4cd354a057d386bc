/* Elements held between two bounds, for the types that oneDNN has no element-wise functions for. */
#include "ops/kernel/clip.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/tensor.h"
#include "ops/kernel/number.h"

/* More elements than this are worth a second thread. */
#define MAX_ALONE 16384

typedef void clip_fn(const void *from, void *to, int64_t count, const void *low, const void *high);

/* NaN stays; where low is over high, everything is high. */
#define ROW(name, type, number, load)                                                              \
  static void name(const void *from, void *to, int64_t count, const void *low, const void *high) { \
    const type *x = from, least = *(const type *)low, most = *(const type *)high;                  \
    const number low_number = load(least), high_number = load(most);                               \
    type *y = to;                                                                                  \
    for (int64_t i = 0; i < count; i++) {                                                          \
      const type up = load(x[i]) < low_number ? least : x[i];                                      \
      y[i] = load(up) > high_number ? most : up;                                                   \
    }                                                                                              \
  }

#define SAME(x) (x)
#define INTEGER_ROW(dtype, name, type) ROW(clip_##name, type, type, SAME)
LK_EACH_INTEGER(INTEGER_ROW)
ROW(clip_f64, double, double, SAME)
ROW(clip_f16, uint16_t, double, lk_f16_to_f64)
ROW(clip_bf16, uint16_t, double, lk_bf16_to_f64)

/* Limits of an integer type, of which an element is the first bytes. */
#define HIGH(type) (UINT64_MAX >> (64 - 8 * sizeof(type) + LK_IS_SIGNED(type)))
#define LOW(type) (LK_IS_SIGNED(type) ? ~HIGH(type) : 0)

static const struct {
  uint32_t dtype;
  clip_fn *clip;
  uint64_t low, high; /* 0 for floating point: float_bound has them */
} rows[] = {{LK_F64, clip_f64, 0, 0},
            {LK_F16, clip_f16, 0, 0},
            {LK_BF16, clip_bf16, 0, 0},
#define LIMITS(dtype, name, type) {dtype, clip_##name, LOW(type), HIGH(type)},
            LK_EACH_INTEGER(LIMITS)
#undef LIMITS
};

static size_t row_of(uint32_t dtype) {
  size_t row = 0;
  while (row + 1 < sizeof rows / sizeof rows[0] && rows[row].dtype != dtype) row++;
  return row;
}

/* A bound as bytes of a floating-point type, held within its finite values. */
static uint64_t float_bound(uint32_t dtype, double bound) {
  const double most = dtype == LK_F64 ? DBL_MAX : dtype == LK_F16 ? 65504.0 : 0x1.fep127;
  const double value = fmin(fmax(bound, -most), most);
  uint64_t bits = 0;
  if (dtype == LK_F64) memcpy(&bits, &value, sizeof bits);
  if (dtype == LK_F16) bits = lk_f64_to_f16(value);
  if (dtype == LK_BF16) bits = lk_f64_to_bf16(value);
  return bits;
}

lk_clip lk_clip_make(uint32_t dtype, int64_t count, float low, float high) {
  const size_t row = row_of(dtype);
  const bool is_floating = rows[row].high == 0;
  return (lk_clip){.dtype = dtype,
                   .count = count,
                   .low = is_floating ? float_bound(dtype, (double)low) : rows[row].low,
                   .high = is_floating ? float_bound(dtype, (double)high) : rows[row].high};
}

static void clip_elements(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_clip *self = loop->params;
  void *const *pointers = loop->pointers;
  /* little-endian: a narrow value is the first bytes */
  const void *low = self->low_at > 0 ? pointers[self->low_at] : &self->low;
  const void *high = self->high_at > 0 ? pointers[self->high_at] : &self->high;
  const size_t offset = (size_t)begin * lk_dtype_size(self->dtype);
  rows[row_of(self->dtype)].clip((const char *)pointers[0] + offset, (char *)pointers[1] + offset,
                                 end - begin, low, high);
}

lk_status lk_clip_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_clip *self = params;
  return lk_kernel_turns(self->count, self->count > MAX_ALONE, clip_elements, params, pointers);
}
