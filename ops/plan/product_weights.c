/* Constant weights as the kernels of convolutions and matrix products read them. */
#include "ops/plan/product_weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/* What the store needs to write a copy, and to read it back for as long as it lives. */
typedef struct packer {
  const lk_allocator *allocator;
  union {
    lk_conv conv;
    lk_conv_transposed transposed;
    lk_depthwise depthwise;
    lk_matmul matmul;
  } of;
} packer;

static lk_status pack_conv(void *arg, const void *plain, void *to, lk_error *error) {
  const packer *self = arg;
  (void)error;
  lk_conv_pack(&self->of.conv, plain, to);
  return LK_OK;
}

static lk_status unpack_conv(void *arg, const void *packed, void *plain, lk_error *error) {
  const packer *self = arg;
  (void)error;
  lk_conv_unpack(&self->of.conv, packed, plain);
  return LK_OK;
}

static lk_status pack_transposed(void *arg, const void *plain, void *to, lk_error *error) {
  const packer *self = arg;
  (void)error;
  lk_conv_transposed_pack(&self->of.transposed, plain, to);
  return LK_OK;
}

static lk_status unpack_transposed(void *arg, const void *packed, void *plain, lk_error *error) {
  const packer *self = arg;
  (void)error;
  lk_conv_transposed_unpack(&self->of.transposed, packed, plain);
  return LK_OK;
}

static lk_status pack_depthwise(void *arg, const void *plain, void *to, lk_error *error) {
  const packer *self = arg;
  (void)error;
  lk_depthwise_pack(&self->of.depthwise, plain, to);
  return LK_OK;
}

static lk_status unpack_depthwise(void *arg, const void *packed, void *plain, lk_error *error) {
  const packer *self = arg;
  (void)error;
  lk_depthwise_unpack(&self->of.depthwise, packed, plain);
  return LK_OK;
}

static lk_status pack_matmul(void *arg, const void *plain, void *to, lk_error *error) {
  const packer *self = arg;
  (void)error;
  lk_matmul_pack(&self->of.matmul, plain, to);
  return LK_OK;
}

static lk_status unpack_matmul(void *arg, const void *packed, void *plain, lk_error *error) {
  const packer *self = arg;
  (void)error;
  lk_matmul_unpack(&self->of.matmul, packed, plain);
  return LK_OK;
}

static void destroy_packer(void *arg) {
  packer *self = arg;
  lk_free(self->allocator, self);
}

static packer *packer_create(lk_planner *planner, lk_error *error) {
  const lk_allocator *allocator = planner->env->allocator;
  packer *self = lk_calloc(allocator, 1, sizeof *self);
  if (self == NULL) {
    (void)lk_fail_memory(error, "a packer", sizeof *self);
    return NULL;
  }
  self->allocator = allocator;
  return self;
}

/* Input 1 in panels. `text` says how it is read and how it lies then, and nothing of other sizes:
 * it stands for a number. */
static lk_status pack_weights(lk_planner *planner, const char *text, int64_t elements,
                              const lk_packer *callbacks, lk_operand *out_operand,
                              lk_error *error) {
  uint32_t id = 0;
  const lk_status status = lk_intern_get(planner->env->intern, text, strlen(text), &id, error);
  if (status != LK_OK) {
    callbacks->destroy(callbacks->arg);
    return status;
  }
  return lk_planner_packed(planner, 1, LK_LAYOUT_OF_KERNELS | id, (size_t)elements * sizeof(float),
                           callbacks, out_operand, error);
}

lk_status lk_conv_weights(lk_planner *planner, const lk_conv *conv, lk_operand *out_operand,
                          lk_error *error) {
  char text[160];
  const int64_t positions = conv->shape.kernel[0] * conv->shape.kernel[1] * conv->shape.kernel[2];
  (void)snprintf(text, sizeof text,
                 "conv %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 " by %" PRId64,
                 conv->shape.groups, conv->shape.out_channels, conv->shape.in_channels, positions,
                 conv->product.panel);
  packer *self = packer_create(planner, error);
  if (self == NULL) return LK_OUT_OF_MEMORY;
  self->of.conv = *conv;
  const lk_packer callbacks = {pack_conv, unpack_conv, destroy_packer, self};
  return pack_weights(planner, text, lk_conv_packed_size(conv), &callbacks, out_operand, error);
}

lk_status lk_conv_transposed_weights(lk_planner *planner, const lk_conv_transposed *conv,
                                     lk_operand *out_operand, lk_error *error) {
  char text[LK_CONV_TRANSPOSED_PACKING_CAPACITY];
  lk_conv_transposed_packing(conv, text);
  packer *self = packer_create(planner, error);
  if (self == NULL) return LK_OUT_OF_MEMORY;
  self->of.transposed = *conv;
  const lk_packer callbacks = {pack_transposed, unpack_transposed, destroy_packer, self};
  return pack_weights(planner, text, lk_conv_transposed_packed_size(conv), &callbacks, out_operand,
                      error);
}

lk_status lk_depthwise_weights(lk_planner *planner, const lk_depthwise *depthwise,
                               lk_operand *out_operand, lk_error *error) {
  char text[LK_DEPTHWISE_PACKING_CAPACITY];
  lk_depthwise_packing(depthwise, text);
  packer *self = packer_create(planner, error);
  if (self == NULL) return LK_OUT_OF_MEMORY;
  self->of.depthwise = *depthwise;
  const lk_packer callbacks = {pack_depthwise, unpack_depthwise, destroy_packer, self};
  return pack_weights(planner, text, lk_depthwise_packed_size(depthwise), &callbacks, out_operand,
                      error);
}

lk_status lk_matmul_weights(lk_planner *planner, const lk_matmul *matmul, lk_operand *out_operand,
                            lk_error *error) {
  char text[160];
  (void)snprintf(text, sizeof text,
                 "matmul %" PRId64 "x%" PRId64 " at %" PRId64 "x%" PRId64 " by %" PRId64, matmul->k,
                 matmul->columns, matmul->b_k, matmul->b_column, matmul->product.panel);
  packer *self = packer_create(planner, error);
  if (self == NULL) return LK_OUT_OF_MEMORY;
  self->of.matmul = *matmul;
  const lk_packer callbacks = {pack_matmul, unpack_matmul, destroy_packer, self};
  return pack_weights(planner, text, lk_matmul_packed_size(matmul), &callbacks, out_operand, error);
}
