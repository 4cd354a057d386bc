/* Transposed convolutions in one to three dimensions, of channels-last tensors, with any stride,
 * dilation, padding and groups.
 *
 * The pixels of the output whose positions have the same remainder by the stride form an ordinary
 * convolution (conv.h) with a part of the positions of the kernel, in reverse order: a phase. Its
 * pixels are written where they belong, `stride` apart. Where windows lie side by side along the
 * last dimension, all pixels of a window's line are columns of one product instead.
 *
 * Bound: 2 * pixels of the input * out_channels * positions * in_channels operations for each
 * group. */
#pragma once

#include <stddef.h>

#include "ops/kernel/conv/conv_params.h"
#include "ops/kernel/kernel.h"

typedef struct lk_conv_transposed {
  lk_conv_shape shape; /* `pad`: what is cut off before the first element of the output */
  lk_isa isa;
  float low, high; /* the output is clipped; -INFINITY, INFINITY: it is not */
  bool has_bias, has_residual;
  bool has_chain;          /* an lk_product_chain lies behind this struct */
  bool has_chain_operands; /* and has operands */
  /* ---- by lk_conv_transposed_plan, which may make a window's line a pixel of the shape ---- */
  int64_t fold;   /* pixels of the output in a pixel of the shape; 1: it is as it was */
  int64_t blocks; /* turns for each phase and group */
} lk_conv_transposed;

/* Sets the second half from the first. */
void lk_conv_transposed_plan(lk_conv_transposed *self);

double lk_conv_transposed_operations(const lk_conv_transposed *self);
/* As lk_product_describe, for the first phase. */
void lk_conv_transposed_describe(const lk_conv_transposed *self, char *text, size_t capacity);

/* What the packed weights depend on; nothing of the sizes of the input. */
enum { LK_CONV_TRANSPOSED_LAYOUT_NUMBERS = 5 + 3 * LK_CONV_DIMS };
void lk_conv_transposed_layout(const lk_conv_transposed *self,
                               int64_t numbers[LK_CONV_TRANSPOSED_LAYOUT_NUMBERS]);
/* Elements of the packed weights. */
int64_t lk_conv_transposed_packed_size(const lk_conv_transposed *self);

/* From ONNX's order: [groups * in_channels][out_channels][kernel...], at any address. By all
 * threads of the region where there are many. */
void lk_conv_transposed_pack(const lk_conv_transposed *self, const float *weights, float *packed);
/* The other way round, by this thread. */
void lk_conv_transposed_unpack(const lk_conv_transposed *self, const float *packed, float *weights);

/* The kernel: `params` is an lk_conv_transposed, pointers are those of lk_conv_kernel. */
lk_status lk_conv_transposed_kernel(const void *params, void *const *pointers, lk_error *error);
