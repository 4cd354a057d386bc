/* Constant weights as the kernels of convolutions and matrix products read them. */
#include "ops/plan/product_weights.h"

#include "ops/plan/packing.h"

static lk_status pack_conv(const void *params, const void *plain, void *to, lk_error *error) {
  (void)error;
  lk_conv_pack(params, plain, to);
  return LK_OK;
}

static lk_status unpack_conv(const void *params, const void *packed, void *plain, lk_error *error) {
  (void)error;
  lk_conv_unpack(params, packed, plain);
  return LK_OK;
}

static lk_status pack_transposed(const void *params, const void *plain, void *to, lk_error *error) {
  (void)error;
  lk_conv_transposed_pack(params, plain, to);
  return LK_OK;
}

static lk_status unpack_transposed(const void *params, const void *packed, void *plain,
                                   lk_error *error) {
  (void)error;
  lk_conv_transposed_unpack(params, packed, plain);
  return LK_OK;
}

static lk_status pack_depthwise(const void *params, const void *plain, void *to, lk_error *error) {
  (void)error;
  lk_depthwise_pack(params, plain, to);
  return LK_OK;
}

static lk_status unpack_depthwise(const void *params, const void *packed, void *plain,
                                  lk_error *error) {
  (void)error;
  lk_depthwise_unpack(params, packed, plain);
  return LK_OK;
}

static lk_status pack_matmul(const void *params, const void *plain, void *to, lk_error *error) {
  (void)error;
  lk_matmul_pack(params, plain, to);
  return LK_OK;
}

static lk_status unpack_matmul(const void *params, const void *packed, void *plain,
                               lk_error *error) {
  (void)error;
  lk_matmul_unpack(params, packed, plain);
  return LK_OK;
}

/* Input 1 in panels. `layout` says how it is read and how it lies then, and nothing of other
 * sizes. */
static lk_status pack_weights(lk_planner *planner, const lk_weights_layout *layout,
                              int64_t elements, const lk_packer *packer, lk_operand *out_operand,
                              lk_error *error) {
  return lk_planner_packed(planner, 1, layout, (size_t)elements * sizeof(float), packer,
                           out_operand, error);
}

lk_status lk_conv_weights(lk_planner *planner, const lk_conv *conv, lk_operand *out_operand,
                          lk_error *error) {
  const lk_conv_shape *shape = &conv->shape;
  const lk_weights_layout layout = {
      {LK_PACKED_CONV, shape->groups, shape->out_channels, shape->in_channels,
       shape->kernel[0] * shape->kernel[1] * shape->kernel[2], conv->product.panel}};
  const lk_packer packer = {pack_conv, unpack_conv, conv, sizeof *conv};
  return pack_weights(planner, &layout, lk_conv_packed_size(conv), &packer, out_operand, error);
}

lk_status lk_conv_transposed_weights(lk_planner *planner, const lk_conv_transposed *conv,
                                     lk_operand *out_operand, lk_error *error) {
  lk_weights_layout layout = {{LK_PACKED_CONV_TRANSPOSED}};
  lk_conv_transposed_layout(conv, &layout.numbers[1]);
  const lk_packer packer = {pack_transposed, unpack_transposed, conv, sizeof *conv};
  return pack_weights(planner, &layout, lk_conv_transposed_packed_size(conv), &packer, out_operand,
                      error);
}

lk_status lk_depthwise_weights(lk_planner *planner, const lk_depthwise *depthwise,
                               lk_operand *out_operand, lk_error *error) {
  lk_weights_layout layout = {{LK_PACKED_DEPTHWISE}};
  lk_depthwise_layout(depthwise, &layout.numbers[1]);
  const lk_packer packer = {pack_depthwise, unpack_depthwise, depthwise, sizeof *depthwise};
  return pack_weights(planner, &layout, lk_depthwise_packed_size(depthwise), &packer, out_operand,
                      error);
}

lk_status lk_matmul_weights(lk_planner *planner, const lk_matmul *matmul, lk_operand *out_operand,
                            lk_error *error) {
  const lk_weights_layout layout = {{LK_PACKED_MATMUL, matmul->k, matmul->columns, matmul->b_k,
                                     matmul->b_column, matmul->product.panel}};
  const lk_packer packer = {pack_matmul, unpack_matmul, matmul, lk_matmul_size(matmul)};
  return pack_weights(planner, &layout, lk_matmul_packed_size(matmul), &packer, out_operand, error);
}
