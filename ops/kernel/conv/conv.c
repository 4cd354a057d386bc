/* Convolutions as matrix products. */
#include "ops/kernel/conv/conv.h"

#include <stddef.h>

#include "ops/kernel/conv/conv_lines.h"
#include "ops/kernel/conv/conv_rows.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/sizes.h"

/* With at least so many channels, a tap for each position costs nothing, and those in the padding
 * are left out. */
enum { ENOUGH_CHANNELS = 32 };

static bool is_dense(const lk_conv *self) {
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    if (self->shape.kernel[d] != 1 || self->shape.stride[d] != 1 ||
        self->shape.in[d] != self->shape.out[d])
      return false;
  }
  return true;
}

static bool merges(const lk_conv_shape *shape) {
  const int64_t lines = shape->kernel[0] * shape->kernel[1];
  return shape->groups == 1 && shape->kernel[2] > 1 && shape->dilation[2] == 1 &&
         shape->in_channels < ENOUGH_CHANNELS && lines > 0 && lines <= LK_MICRO_TAPS &&
         lk_conv_positions(shape) * shape->in_channels <= LK_CONV_PADDED_WINDOW;
}

/* One channel lies in the same places in both layouts. Windows that share nothing would be copied
 * for no more than one use. */
bool lk_conv_takes_planes(const lk_conv_shape *shape) {
  return merges(shape) && shape->in_channels > 1 && shape->stride[2] < shape->kernel[2];
}

/* Whether all windows lie in the input along the line. */
static bool is_inside(const lk_conv_shape *shape) {
  return shape->pad[2] <= 0 &&
         (shape->out[2] - 1) * shape->stride[2] - shape->pad[2] + shape->kernel[2] <= shape->in[2];
}

/* Groups of a task, in which each tile finds its rows once for all of them: as many as have their
 * weights in the cache, and no more than a row of zeros is long. */
static int64_t groups_at_once(const lk_conv_shape *shape) {
  const int64_t of_group =
      shape->in_channels * shape->out_channels * lk_conv_positions(shape) * (int64_t)sizeof(float);
  const int64_t fitting = lk_min(LK_PRODUCT_B_BYTES / lk_max(1, of_group),
                                 LK_PRODUCT_LONGEST_SUM / lk_max(1, shape->in_channels));
  const int64_t most = lk_max(1, lk_min(fitting, shape->groups));
  return lk_max(1, lk_div_up(shape->groups, lk_max(1, lk_div_up(shape->groups, most))));
}

void lk_conv_plan(lk_conv *self) {
  self->is_dense = !self->is_phase && is_dense(self);
  self->merges = merges(&self->shape);
  const int64_t merged = self->merges ? self->shape.kernel[2] : 1;
  self->product = (lk_product){.micro = lk_micro_for(self->isa, self->shape.out_channels),
                               .rows = self->shape.batch * self->shape.out[0] * self->shape.out[1] *
                                       self->shape.out[2],
                               .columns = self->shape.out_channels,
                               .taps = lk_conv_positions(&self->shape) / merged,
                               .k = self->shape.in_channels * merged,
                               .c_step = self->shape.out_channels * self->shape.groups,
                               .c_rows = 1,
                               .groups = (int32_t)groups_at_once(&self->shape),
                               .line = self->is_dense ? 0 : lk_max(1, self->shape.out[2]),
                               .low = self->product.low,
                               .high = self->product.high};
  lk_product_plan(&self->product,
                  lk_multiply_up_to_most((int64_t)sizeof(float) * self->shape.in_channels,
                                         self->shape.stride[2]));
  lk_conv_lines_plan(self);
  self->pads = self->merges && (self->has_planes || !is_inside(&self->shape));
}

/* ---- weights ---- */

int64_t lk_conv_packed_size(const lk_conv *self) {
  return self->shape.groups * lk_product_packed_size(&self->product);
}

/* The product as weights see it, which have no merged taps: the elements lie in the same order. */
static lk_product of_weights(const lk_conv *self) {
  lk_product product = self->product;
  product.taps = lk_conv_positions(&self->shape);
  product.k = self->shape.in_channels;
  return product;
}

/* From a position of the kernel to the next in the weights, and from a channel. */
static int64_t tap_step(const lk_conv *self) {
  return self->weights_are_last ? self->shape.in_channels : 1;
}
static int64_t channel_step(const lk_conv *self) {
  return self->weights_are_last ? 1 : lk_conv_positions(&self->shape);
}

/* A turn is a panel of a group. */
static void pack_panels(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_conv *self = loop->params;
  const lk_product product = of_weights(self);
  const int64_t taps = product.taps, column = taps * self->shape.in_channels;
  for (int64_t i = begin; i < end; i++) {
    const int64_t group = i / product.panels, panel = i % product.panels;
    const float *weights =
        (const float *)loop->pointers[0] + group * self->shape.out_channels * column;
    lk_product_pack(&product, weights, column, tap_step(self), channel_step(self), panel, panel + 1,
                    (float *)loop->pointers[1] + group * lk_product_packed_size(&product));
  }
}

void lk_conv_pack(const lk_conv *self, const float *weights, float *packed) {
  void *const pointers[] = {(void *)(uintptr_t)weights, packed};
  const bool is_shared = lk_sharing_pays_for(lk_conv_packed_size(self), LK_SHARING_ELEMENT);
  (void)lk_kernel_turns(self->shape.groups * self->product.panels, is_shared, pack_panels, self,
                        pointers);
}

void lk_conv_unpack(const lk_conv *self, const float *packed, float *weights) {
  const lk_product product = of_weights(self);
  const int64_t taps = product.taps, column = taps * self->shape.in_channels;
  for (int64_t g = 0; g < self->shape.groups; g++) {
    lk_product_unpack(&product, packed + g * lk_product_packed_size(&product), column,
                      tap_step(self), channel_step(self),
                      weights + g * self->shape.out_channels * column);
  }
}

/* ---- running ---- */

lk_product_operands lk_conv_operands(const lk_conv *self, void *const *pointers, int64_t group,
                                     const lk_product_chain *chain) {
  const int64_t channel = group * self->shape.out_channels;
  const float *weights = pointers[1];
  lk_product_operands found = {.b = weights + group * lk_product_packed_size(&self->product),
                               .groups = 1,
                               .a_group = self->shape.in_channels,
                               .c = (float *)pointers[2] + channel,
                               .chain = chain};
  void *const *next = pointers + 3;
  if (self->has_bias) found.bias = (const float *)*next++ + channel;
  if (self->has_residual) found.residual = (const float *)*next++ + channel;
  if (chain != NULL) found.of_chain = lk_product_chain_at(chain, next, 0, channel);
  return found;
}

static int64_t all_tasks(const lk_conv *self) {
  return lk_div_up(self->shape.groups, self->product.groups) * lk_product_tasks(&self->product);
}

static void do_tasks(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_conv *self = loop->params;
  const int64_t tasks = lk_product_tasks(&self->product), groups = self->product.groups;
  const int64_t all = all_tasks(self);
  const float *input = loop->pointers[0];
  const lk_product_chain *chain = self->has_chain ? (const void *)(self + 1) : NULL;
  lk_conv_padded source;
  lk_conv_source_init(&source, self, input); /* once, since it keeps lines */
  for (int64_t i = begin; i < end; i++) {
    const int64_t group = i / tasks * groups;
    lk_product_operands operands = lk_conv_operands(self, loop->pointers, group, chain);
    operands.groups = lk_min(groups, self->shape.groups - group);
    operands.ahead = lk_kernel_ahead_of(loop, i, all);
    source.rows.input = input + group * self->shape.in_channels;
    lk_product_run(&self->product, &operands, &source.rows.source, i % tasks);
  }
}

lk_status lk_conv_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_conv *self = params;
  const lk_product *product = &self->product;
  const bool is_shared =
      lk_sharing_of_rows_pays(lk_product_operations(product, self->shape.groups), product->rows);
  (void)error;
  return lk_kernel_turns_fetching(all_tasks(self), is_shared, do_tasks, self, pointers);
}
