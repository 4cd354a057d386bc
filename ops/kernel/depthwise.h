/* Depthwise convolutions in one to three dimensions, of channels-last tensors, with any stride,
 * dilation and padding: each channel of the input goes to one or several of the output.
 *
 * A turn is a piece of a line of the output with some channels, cut into tiles (depthwise_tile.h).
 * The lines below each other follow each other, and what their windows share stays in the L1 cache.
 *
 * Bound: 2 * pixels * channels * positions of the window operations, or bytes.
 */
#pragma once

#include <stddef.h>

#include "ops/kernel/conv_shape.h"
#include "ops/kernel/depthwise_tile.h"
#include "ops/kernel/kernel.h"

typedef struct lk_depthwise {
  lk_conv_shape shape; /* one input channel in each group; out_channels: the multiplier */
  float low, high;     /* the output is clipped; -INFINITY, INFINITY: it is not */
  bool has_bias;
  bool has_chain; /* an lk_product_chain lies behind this struct */
  /* ---- by lk_depthwise_plan ---- */
  uint8_t window; /* of lk_depthwise_tiles; LK_DEPTHWISE_WINDOWS: any */
  uint8_t reserved;
  lk_isa isa;
  int64_t block;  /* channels of a turn */
  int64_t blocks; /* the last one has what is left */
  int64_t piece;  /* columns of a turn */
} lk_depthwise;

/* Sets the second half from the first. A dimension that is not there may come last; the shape is
 * changed so that it does not. */
void lk_depthwise_plan(lk_depthwise *self, lk_isa isa);

/* Turns of the kernel. */
int64_t lk_depthwise_turns(const lk_depthwise *self);
double lk_depthwise_operations(const lk_depthwise *self);
/* "8x16 in blocks of 56x64": columns and channels of a tile and of a turn. */
void lk_depthwise_describe(const lk_depthwise *self, char *text, size_t capacity);

/* What the packed weights depend on; nothing of the sizes of the input. */
enum { LK_DEPTHWISE_LAYOUT_NUMBERS = 4 };
void lk_depthwise_layout(const lk_depthwise *self, int64_t numbers[LK_DEPTHWISE_LAYOUT_NUMBERS]);
/* Elements of the packed weights. */
int64_t lk_depthwise_packed_size(const lk_depthwise *self);

/* From ONNX's order: [channels of the output][1][window...]. */
void lk_depthwise_pack(const lk_depthwise *self, const float *weights, float *packed);
/* The other way round. */
void lk_depthwise_unpack(const lk_depthwise *self, const float *packed, float *weights);

/* The kernel: `params` is an lk_depthwise, pointers are input, packed weights, output, then the
 * bias where there is one, and the operands of the chain. */
lk_status lk_depthwise_kernel(const void *params, void *const *pointers, lk_error *error);
