/* Convolutions in one to three dimensions, of channels-last tensors, with any stride, dilation,
 * padding and groups. An input of few channels may be plain.
 *
 * A convolution is a matrix product (product.h) for each group: its rows are the pixels of the
 * output, its taps the positions of the kernel, and k is the channel. What lies in the padding is a
 * row of zeros, or left out where that holds for a whole tile. With few channels, the positions
 * along the last dimension are one tap, whose elements lie one after the other in a copy of the
 * input's lines (conv_padded.h).
 *
 * Bound: 2 * pixels * out_channels * taps * in_channels operations for each group.
 */
#pragma once

#include <latchkey/base.h>

#include "ops/kernel/conv/conv_params.h"

/* Whether a plain input is read as it is, whatever its sizes. */
bool lk_conv_takes_planes(const lk_conv_shape *shape);

/* Sets the second half from the first, but for the product's `low` and `high`, which are there. */
void lk_conv_plan(lk_conv *self);

/* Elements of the packed weights. They depend on the weights, `groups` and the panel's width only,
 * not on the sizes of the input. */
int64_t lk_conv_packed_size(const lk_conv *self);

/* From ONNX's order, [groups * out_channels][in_channels][kernel...], or the other one, at any
 * address. By all threads of the region where there are many. */
void lk_conv_pack(const lk_conv *self, const float *weights, float *packed);
/* The other way round, by this thread. */
void lk_conv_unpack(const lk_conv *self, const float *packed, float *weights);

/* What a group computes on, of the pointers of the kernel. */
lk_product_operands lk_conv_operands(const lk_conv *self, void *const *pointers, int64_t group,
                                     const lk_product_chain *chain);

/* The kernel: `params` is an lk_conv, pointers are input, packed weights, output, then the bias,
 * the residual and the chain's operands where there are such. The residual has the shape of the
 * output and may be it. */
lk_status lk_conv_kernel(const void *params, void *const *pointers, lk_error *error);
