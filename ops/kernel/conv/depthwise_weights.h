/* The weights of convolutions with few channels in each group, as their tiles read them: vector
 * after vector, [positions of the window][input channels of a group][lanes]. Those of a transposed
 * convolution come in the order of its phases. */
#pragma once

#include "ops/kernel/conv/depthwise.h"

/* What the packed weights depend on; nothing of the sizes of the input. */
enum { LK_DEPTHWISE_LAYOUT_NUMBERS = 8 + 3 * LK_CONV_DIMS };
void lk_depthwise_layout(const lk_depthwise *self, int64_t numbers[LK_DEPTHWISE_LAYOUT_NUMBERS]);
/* Elements of the packed weights. */
int64_t lk_depthwise_packed_size(const lk_depthwise *self);

/* From ONNX's order: [channels of the output][in_channels][window...], or, for a transposed
 * convolution, [channels of the input][out_channels][window...]. */
void lk_depthwise_pack(const lk_depthwise *self, const float *weights, float *packed);
/* The other way round. */
void lk_depthwise_unpack(const lk_depthwise *self, const float *packed, float *weights);
