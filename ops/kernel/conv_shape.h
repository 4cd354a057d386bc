/* The sizes of a convolution. */
#pragma once

#include <stdint.h>

#include "ops/kernel/inside.h"

enum { LK_CONV_DIMS = 3 };

/* Dimensions in the order of memory; those that are not there have size, stride and so on of 1, and
 * no padding. */
typedef struct lk_conv_shape {
  int64_t batch, groups;
  int64_t in_channels, out_channels; /* of a group */
  int64_t in[LK_CONV_DIMS], out[LK_CONV_DIMS], kernel[LK_CONV_DIMS];
  int32_t stride[LK_CONV_DIMS], dilation[LK_CONV_DIMS];
  int32_t pad[LK_CONV_DIMS]; /* before the first element */
} lk_conv_shape;

/* Elements of the input from the first of a window to the last, along a dimension. */
static inline int64_t lk_conv_extent(const lk_conv_shape *shape, int d) {
  return (shape->kernel[d] - 1) * shape->dilation[d] + 1;
}

/* Of the kernel. */
static inline int64_t lk_conv_positions(const lk_conv_shape *shape) {
  return shape->kernel[0] * shape->kernel[1] * shape->kernel[2];
}

/* Elements of the input from the first of a window to the last of `count` windows. */
static inline int64_t lk_conv_span(const lk_conv_shape *shape, int d, int64_t count) {
  return (count - 1) * shape->stride[d] + lk_conv_extent(shape, d);
}

/* The positions of a window along a dimension that lie in the image; it begins at `at`. */
static inline lk_inside lk_conv_find_inside_from(const lk_conv_shape *shape, int d, int64_t at) {
  return lk_find_inside(at, shape->dilation[d], shape->kernel[d], shape->in[d]);
}
/* Of the window of an output. */
static inline lk_inside lk_conv_find_inside(const lk_conv_shape *shape, int d, int64_t pixel) {
  return lk_conv_find_inside_from(shape, d, pixel * shape->stride[d] - shape->pad[d]);
}
