/* Clip in plain C, see clip.h. */
#include <float.h>
#include <math.h>

#include "base/team/team_for.h"
#include "base/tensor.h"
#include "ops/clip.h"
#include "ops/kernel/number.h"

/* Elements that a thread takes at a time; fewer than two of these are not worth a second thread. */
#define CHUNK 16384

typedef void clip_fn(const void *from, void *to, int64_t count, const void *low, const void *high);

typedef struct clip_step {
  clip_fn *clip;
  size_t element;
  int64_t count;
  uint64_t low, high;       /* values by their bytes, where the bound is no operand */
  uint32_t low_at, high_at; /* operands; 0: none */
} clip_step;

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

ROW(clip_i8, int8_t, int8_t, )
ROW(clip_i16, int16_t, int16_t, )
ROW(clip_i32, int32_t, int32_t, )
ROW(clip_i64, int64_t, int64_t, )
ROW(clip_u8, uint8_t, uint8_t, )
ROW(clip_u16, uint16_t, uint16_t, )
ROW(clip_u32, uint32_t, uint32_t, )
ROW(clip_u64, uint64_t, uint64_t, )
ROW(clip_f64, double, double, )
ROW(clip_f16, uint16_t, double, lk_f16_to_f64)
ROW(clip_bf16, uint16_t, double, lk_bf16_to_f64)

/* Integers: their limits. Floating point: 0, limits_of has them. */
static const struct {
  uint32_t dtype;
  clip_fn *clip;
  uint64_t low, high;
} rows[] = {
    {LK_I8, clip_i8, (uint64_t)INT8_MIN, INT8_MAX},
    {LK_I16, clip_i16, (uint64_t)INT16_MIN, INT16_MAX},
    {LK_I32, clip_i32, (uint64_t)INT32_MIN, INT32_MAX},
    {LK_I64, clip_i64, (uint64_t)INT64_MIN, INT64_MAX},
    {LK_U8, clip_u8, 0, UINT8_MAX},
    {LK_U16, clip_u16, 0, UINT16_MAX},
    {LK_U32, clip_u32, 0, UINT32_MAX},
    {LK_U64, clip_u64, 0, UINT64_MAX},
    {LK_F64, clip_f64, 0, 0},
    {LK_F16, clip_f16, 0, 0},
    {LK_BF16, clip_bf16, 0, 0},
};

static size_t row_of(uint32_t dtype) {
  size_t row = 0;
  while (row < sizeof rows / sizeof rows[0] && rows[row].dtype != dtype) row++;
  return row;
}

bool lk_clip_has_kernel(uint32_t dtype) {
  return row_of(dtype) < sizeof rows / sizeof rows[0];
}

/* A bound as bytes of a floating-point type, not beyond its finite values. */
static uint64_t float_bound(uint32_t dtype, double bound) {
  const double most = dtype == LK_F64 ? DBL_MAX : dtype == LK_F16 ? 65504.0 : 0x1.fep127;
  const double value = fmin(fmax(bound, -most), most);
  uint64_t bits = 0;
  if (dtype == LK_F64) memcpy(&bits, &value, sizeof bits);
  if (dtype == LK_F16) bits = lk_f64_to_f16(value);
  if (dtype == LK_BF16) bits = lk_f64_to_bf16(value);
  return bits;
}

typedef struct clip_loop {
  const clip_step *step;
  void *const *pointers;
} clip_loop;

static void clip_chunks(const void *arg, int64_t begin, int64_t end) {
  const clip_loop *loop = arg;
  const clip_step *step = loop->step;
  void *const *pointers = loop->pointers;
  /* little-endian: a narrow value is the first bytes */
  const void *low = step->low_at > 0 ? pointers[step->low_at] : &step->low;
  const void *high = step->high_at > 0 ? pointers[step->high_at] : &step->high;
  const int64_t first = begin * CHUNK, last = end * CHUNK;
  const size_t offset = (size_t)first * step->element;
  step->clip((const char *)pointers[0] + offset, (char *)pointers[1] + offset,
             (last < step->count ? last : step->count) - first, low, high);
}

static lk_status clip_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const clip_loop loop = {params, pointers};
  const int64_t chunks = (loop.step->count + CHUNK - 1) / CHUNK;
  lk_team_for(chunks, chunks > 1, clip_chunks, &loop);
  return LK_OK;
}

lk_status lk_plan_clip_kernel(lk_planner *planner, const lk_operand *x, const lk_operand *y,
                              const lk_operand *low, const lk_operand *high, float other_low,
                              float other_high, lk_error *error) {
  const uint32_t dtype = x->desc.dtype;
  const size_t row = row_of(dtype);
  const bool floating = rows[row].high == 0;
  lk_operand operands[4] = {*x, *y};
  uint32_t count = 2;
  clip_step step = {.clip = rows[row].clip,
                    .element = lk_dtype_size(dtype),
                    .count = lk_elements(&x->desc),
                    .low = floating ? float_bound(dtype, (double)other_low) : rows[row].low,
                    .high = floating ? float_bound(dtype, (double)other_high) : rows[row].high};
  if (low != NULL) {
    step.low_at = count;
    operands[count++] = *low;
  }
  if (high != NULL) {
    step.high_at = count;
    operands[count++] = *high;
  }
  return lk_planner_kernel(planner, clip_kernel, &step, sizeof step, operands, count, error);
}
