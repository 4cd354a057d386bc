/* Elements of any type as the numbers that interpolation computes with, and back. */
#pragma once

#include "ops/kernel/element/element_ops.h"
#include "ops/kernel/isa.h"

/* What elements are computed in: f32 where it holds them exactly, f64 for wider ones;
 * LK_DTYPE_NONE for those that cannot be interpolated. */
uint32_t lk_resize_wide(uint32_t dtype);

/* Sums along a row of [in][inner] elements: `count` of [out][inner], from `first` on. Weights are
 * f64 where lk_resize_wide of the type is, else f32. Without taps elements keep their places. */
typedef struct lk_resize_types_line {
  const void *from;
  const int32_t *indices;
  const void *weights;
  int64_t taps, step;
  int64_t inner, first, count;
} lk_resize_types_line;

void lk_resize_types_sum(uint32_t dtype, const lk_resize_types_line *line, void *to);

/* Numbers as elements: to the nearest, ties to even, and held within the range of an integer type.
 * NaN as an integer is the least. */
void lk_resize_types_narrow(uint32_t dtype, const void *from, void *to, int64_t count);

/* Bytes of `value` as an element, in the same way. */
void lk_resize_element(uint32_t dtype, double value, uint8_t bytes[8]);

/* Loops that bring elements to f32, and back as lk_resize_types_narrow does, one after the other,
 * for types that lk_resize_wide gives LK_F32 for. None for f32 itself. */
enum { LK_RESIZE_WIDENS = 2, LK_RESIZE_NARROWS = 4 };
typedef struct lk_resize_moves {
  lk_element_fn *widen[LK_RESIZE_WIDENS], *narrow[LK_RESIZE_NARROWS];
  int64_t size;    /* bytes of an element */
  float low, high; /* what integers are held between */
} lk_resize_moves;

void lk_resize_moves_plan(lk_resize_moves *self, uint32_t dtype, lk_isa isa);
void lk_resize_widen(const lk_resize_moves *self, const void *from, int64_t count, float *to);
/* `from` is written over on the way. */
void lk_resize_narrow(const lk_resize_moves *self, float *from, int64_t count, void *to);
