/* Elements of any type as the numbers that interpolation computes with, and back. */
#pragma once

#include <stdint.h>

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
