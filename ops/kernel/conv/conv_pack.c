/* Packing the weights of convolutions in each run. */
#include "ops/kernel/conv/conv_pack.h"

#include "ops/kernel/conv/conv.h"
#include "ops/kernel/conv/conv_transposed.h"
#include "ops/kernel/conv/depthwise_weights.h"

lk_status lk_conv_pack_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  lk_conv_pack(params, pointers[0], pointers[1]);
  return LK_OK;
}

lk_status lk_conv_transposed_pack_kernel(const void *params, void *const *pointers,
                                         lk_error *error) {
  (void)error;
  lk_conv_transposed_pack(params, pointers[0], pointers[1]);
  return LK_OK;
}

lk_status lk_depthwise_pack_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  lk_depthwise_pack(params, pointers[0], pointers[1]);
  return LK_OK;
}
