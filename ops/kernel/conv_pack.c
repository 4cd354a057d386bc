/* Packing the weights of convolutions in each run. */
#include "ops/kernel/conv_pack.h"

#include "ops/kernel/conv.h"
#include "ops/kernel/conv_transposed.h"
#include "ops/kernel/depthwise_weights.h"

/* Fewer elements than this are packed sooner than another thread wakes up. */
enum { LEAST_SHARED = 1 << 16 };

static void do_panels(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_conv *self = loop->params;
  const int64_t panels = self->product.panels;
  for (int64_t i = begin; i < end; i++) {
    const int64_t panel = i % panels;
    lk_conv_pack_panels(self, loop->pointers[0], i / panels, panel, panel + 1, loop->pointers[1]);
  }
}

lk_status lk_conv_pack_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_conv *self = params;
  (void)error;
  return lk_kernel_turns(self->shape.groups * self->product.panels,
                         lk_conv_packed_size(self) >= LEAST_SHARED, do_panels, self, pointers);
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
