/* A depthwise convolution along one dimension that sees the past alone, with what it has seen
 * before as a state (ONNX operator CausalConvWithState). Bound: bytes, for the few taps that models
 * have. */
#pragma once

#include "ops/kernel/kernel.h"

typedef struct lk_causal_conv {
  int64_t lines; /* batch * channels */
  int64_t channels, length, taps;
  bool has_bias, has_past;
} lk_causal_conv;

/* Params: lk_causal_conv. Pointers, all f32: input [lines][length], weights [channels][taps],
 * output [lines][length], state [lines][taps - 1], which becomes the last elements of past and
 * input; then, each where there is one, bias [channels] and past [lines][taps - 1], zeros without
 * it. The state may be the past. */
lk_status lk_causal_conv_kernel(const void *params, void *const *pointers, lk_error *error);
