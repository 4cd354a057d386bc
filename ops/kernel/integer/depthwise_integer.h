/* Depthwise convolutions of bytes, of channels-last tensors with at least a vector of channels:
 * exact sums of i32, scaled in f32 where the output is bytes, as those of product_integer.h, whose
 * operands they share.
 *
 * A window is a list of taps: the pixels that it covers, or a pixel of zero points where it is
 * outside. Along a line windows inside are the same list, moved.
 *
 * Bound: 2 * pixels * channels * taps operations.
 */
#pragma once

#include "ops/kernel/integer/product_integer.h"

enum { LK_DEPTHWISE_INTEGER_TAPS = 128 };

typedef struct lk_depthwise_integer {
  const lk_integer_loops *loops;
  uint32_t has; /* a bit for each lk_integer_role */
  bool a_is_signed, b_is_signed;
  uint8_t c_dtype;                            /* LK_I32, LK_U8, LK_I8 */
  int64_t b_zero_step, scale_step, bias_step; /* 0 or 1 */
  lk_conv_shape conv;                         /* lk_depthwise_integer_takes it */
} lk_depthwise_integer;

bool lk_depthwise_integer_takes(const lk_conv_shape *conv, const lk_integer_loops *loops);
/* Numbers of i32. */
int64_t lk_depthwise_integer_scratch_size(const lk_depthwise_integer *self);
double lk_depthwise_integer_operations(const lk_conv_shape *conv);

/* Params: lk_depthwise_integer. Pointers: by lk_integer_role. B is packed: [taps][channels]. */
lk_status lk_depthwise_integer_kernel(const void *params, void *const *pointers, lk_error *error);
/* Params: the lk_conv_shape. Pointers: B as it lies, B packed. */
lk_status lk_depthwise_integer_pack_kernel(const void *params, void *const *pointers,
                                           lk_error *error);
