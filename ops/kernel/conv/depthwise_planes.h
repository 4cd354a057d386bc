/* Depthwise convolutions of plain tensors, one channel for one, in one or two dimensions, with any
 * stride, dilation and padding: where neither the input nor the output has its channels last, this
 * saves two reorders.
 *
 * A turn is a block of a plane of the output. The lines of the input that it needs are copied into
 * a buffer, with the zeros of their padding; a line's columns that lie `stride` apart come to lie
 * side by side there. So vectors of columns need not look where the image ends.
 *
 * Where images are small, and lines fill vectors badly, a turn is as many planes as a vector has
 * lanes, and a vector holds a pixel of all of them. Sums are added up in the same order.
 *
 * Bound: 2 * pixels * channels * positions of the window operations, or bytes.
 */
#pragma once

#include <stddef.h>

#include "ops/kernel/conv_shape.h"
#include "ops/kernel/isa.h"
#include "ops/kernel/kernel.h"

typedef struct lk_depthwise_planes {
  lk_conv_shape shape; /* lk_depthwise_planes_takes it */
  bool has_bias;
  bool has_chain;  /* an lk_product_chain lies behind this struct: rows are lines of the output */
  float low, high; /* the output is clipped; -INFINITY, INFINITY: it is not */
  /* ---- by lk_depthwise_planes_plan ---- */
  lk_isa isa;
  bool is_across;         /* a turn is planes across a vector */
  int64_t lines, columns; /* else: of a turn, the most */
} lk_depthwise_planes;

/* Whether the kernel computes it: the answer does not depend on the image's size. */
bool lk_depthwise_planes_takes(const lk_conv_shape *shape);

/* Sets the second half from the first. */
void lk_depthwise_planes_plan(lk_depthwise_planes *self, lk_isa isa);

double lk_depthwise_planes_operations(const lk_depthwise_planes *self);
/* "planes in blocks of 40x80": lines and columns of a turn. "planes across vectors". */
void lk_depthwise_planes_describe(const void *params, char *text, size_t capacity);

/* The kernel: `params` is an lk_depthwise_planes, pointers are input, weights as ONNX has them,
 * output, then the bias where there is one, and the operands of the chain. */
lk_status lk_depthwise_planes_kernel(const void *params, void *const *pointers, lk_error *error);
