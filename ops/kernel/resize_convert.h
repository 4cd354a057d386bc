/* Elements as the numbers that interpolation computes with, and back. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

/* What elements are computed in: f32 where it holds them exactly, f64 for wider ones;
 * LK_DTYPE_NONE for those that cannot be interpolated. */
uint32_t lk_resize_wide(uint32_t dtype);
/* Bytes of `value` as an element: to the nearest, and within the range of an integer type. */
void lk_resize_element(uint32_t dtype, double value, uint8_t bytes[8]);

typedef struct lk_resize_convert {
  uint32_t dtype;
  bool narrows; /* from lk_resize_wide of `dtype` to it; else the other way */
  int64_t count;
} lk_resize_convert;

/* Params: lk_resize_convert. Pointers: from, to. */
lk_status lk_resize_convert_kernel(const void *params, void *const *pointers, lk_error *error);
