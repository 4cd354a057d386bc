/* Convolutions in one to three dimensions, of channels-last tensors, with any stride, dilation,
 * padding and groups.
 *
 * A convolution is a matrix product (product.h) for each group: its rows are the pixels of the
 * output, its taps the positions of the kernel, and k is the channel. What lies in the padding is a
 * row of zeros, or left out where that holds for a whole tile. With few channels, the positions
 * along the last dimension are one tap, whose elements lie one after the other in the input.
 *
 * Bound: 2 * pixels * out_channels * taps * in_channels operations for each group.
 */
#pragma once

#include <latchkey/base.h>

#include "ops/kernel/product.h"

enum { LK_CONV_DIMS = 3 };

/* Dimensions in the order of memory; those that are not there have size, stride and so on of 1, and
 * no padding. */
typedef struct lk_conv {
  lk_isa isa;
  int64_t batch, groups;
  int64_t in_channels, out_channels; /* of a group */
  int64_t in[LK_CONV_DIMS], out[LK_CONV_DIMS], kernel[LK_CONV_DIMS];
  int64_t stride[LK_CONV_DIMS], dilation[LK_CONV_DIMS];
  int64_t pad[LK_CONV_DIMS]; /* before the first element */
  float low, high;           /* the output is clipped; -INFINITY, INFINITY: it is not */
  bool has_bias, has_residual;
  bool has_chain; /* an lk_product_chain lies behind this struct */
  /* ---- by lk_conv_plan ---- */
  bool is_dense; /* pixels of the input are the rows of the product */
  bool merges;   /* positions along the last dimension are one tap */
  lk_product product;
} lk_conv;

/* Sets the second half from the first. */
void lk_conv_plan(lk_conv *self);

/* Elements of the packed weights. They depend on the weights, `groups` and the panel's width only,
 * not on the sizes of the input. */
int64_t lk_conv_packed_size(const lk_conv *self);

/* From ONNX's order: [groups * out_channels][in_channels][kernel...]. */
void lk_conv_pack(const lk_conv *self, const float *weights, float *packed);
/* The other way round. */
void lk_conv_unpack(const lk_conv *self, const float *packed, float *weights);

/* The kernel: `params` is an lk_conv, pointers are input, packed weights, output, then the bias, the
 * residual and the chain's operands where there are such. The residual has the shape of the output
 * and may be it. */
lk_status lk_conv_kernel(const void *params, void *const *pointers, lk_error *error);
