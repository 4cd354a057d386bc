/* Packing the weights of convolutions in each run, where they are no constants.
 *
 * Pointers of the kernels are the weights in ONNX's order, and where they are packed; `params` are
 * those of the kernel that reads them then.
 *
 * Bound: bytes of the weights, read once and written once. */
#pragma once

#include "ops/kernel/kernel.h"

/* `params` is an lk_conv. */
lk_status lk_conv_pack_kernel(const void *params, void *const *pointers, lk_error *error);
/* An lk_conv_transposed. */
lk_status lk_conv_transposed_pack_kernel(const void *params, void *const *pointers,
                                         lk_error *error);
/* An lk_depthwise. */
lk_status lk_depthwise_pack_kernel(const void *params, void *const *pointers, lk_error *error);
