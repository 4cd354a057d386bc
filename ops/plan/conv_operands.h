/* Operands of convolutions: ranks, channels and groups. What windows make of the spatial dimensions
 * is window.h's. */
#pragma once

#include "ops/plan/op.h"

/* Of known rank, but for `bias`, which is NULL where there is none. */
typedef struct lk_conv_operands {
  const lk_tensor_desc *x, *w, *bias;
} lk_conv_operands;

/* Multiplications and additions: each element of `from`, the output, or of a transposed convolution
 * the input, has those of the weights of one channel. */
double lk_conv_flops(const lk_tensor_desc *from, const lk_tensor_desc *weights);

/* Checks input [N][C][spatial], weights [M][C / groups][kernel], or of a transposed convolution
 * [C][M / groups][kernel], and bias [M]. `*out_channels` is M. `groups`: 1 or more. Dimensions may
 * be terms of `dims`, which is NULL when all are numbers. LK_INVALID_ARGUMENT; LK_OUT_OF_RANGE
 * where channels overflow. */
lk_status lk_conv_channels(const lk_conv_operands *of, bool is_transposed, int64_t groups,
                           lk_dims *dims, int64_t *out_channels, lk_error *error);
