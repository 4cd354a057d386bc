/* Convolutions with few channels in each group, ordinary and transposed, in one to three
 * dimensions, of channels-last tensors, with any stride, dilation and padding. With one channel for
 * one, they are depthwise convolutions.
 *
 * A vector has the output channels of as many groups as fit, or a part of those of one group. A
 * turn is a piece of a line of the output with some vectors, cut into tiles (depthwise_tile.h). The
 * lines below each other follow each other, and what their windows share stays in the L1 cache.
 * Transposed convolutions are phases (conv_phases.h), whose pixels lie apart in the output.
 *
 * Bound: 2 * pixels * channels * positions of the window operations for each input channel of a
 * group, or bytes.
 */
#pragma once

#include <stddef.h>

#include "ops/kernel/conv/depthwise_tile.h"
#include "ops/kernel/conv_shape.h"
#include "ops/kernel/kernel.h"

typedef struct lk_depthwise {
  lk_conv_shape shape; /* lk_depthwise_takes it */
  bool is_transposed;  /* `pad`: what is cut off before the first element of the output */
  bool has_bias;
  bool has_chain;  /* an lk_product_chain lies behind this struct */
  float low, high; /* the output is clipped; -INFINITY, INFINITY: it is not */
  /* ---- by lk_depthwise_plan ---- */
  lk_isa isa;
  int32_t vector; /* channels of the output in a vector */
  int64_t block;  /* vectors of a turn */
  int64_t blocks; /* the last one has what is left */
  int64_t piece;  /* columns of a turn, of each phase */
  int64_t band;   /* lines that all blocks have before the next lines */
} lk_depthwise;

/* Whether this kernel is the one for such groups: else a product of matrices is, for each group. */
bool lk_depthwise_takes(const lk_conv_shape *shape, lk_isa isa);

/* Sets the second half from the first. A dimension that is not there may come last; the shape is
 * changed so that it does not. */
void lk_depthwise_plan(lk_depthwise *self, lk_isa isa);

/* Turns of the kernel. */
int64_t lk_depthwise_turns(const lk_depthwise *self);
double lk_depthwise_operations(const lk_depthwise *self);
/* "8x16 in blocks of 56x64": columns and channels of a tile and of a turn. */
void lk_depthwise_describe(const lk_depthwise *self, char *text, size_t capacity);

/* The kernel: `params` is an lk_depthwise, pointers are input, packed weights
 * (depthwise_weights.h), output, then the bias where there is one, and the operands of the
 * chain. */
lk_status lk_depthwise_kernel(const void *params, void *const *pointers, lk_error *error);
