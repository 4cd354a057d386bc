/* Weights as the kernels of convolutions and matrix products read them. */
#include "ops/plan/product_weights.h"

#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/packing.h"

/* How the weights store calls a kernel's packing, which cannot fail, and the other way round; and
 * how a step calls it in each run. */
#define PACKER(name)                                                                               \
  static lk_status pack_##name(const void *params, const void *plain, void *to, lk_error *error) { \
    (void)error;                                                                                   \
    lk_##name##_pack(params, plain, to);                                                           \
    return LK_OK;                                                                                  \
  }                                                                                                \
  static lk_status unpack_##name(const void *params, const void *packed, void *plain,              \
                                 lk_error *error) {                                                \
    (void)error;                                                                                   \
    lk_##name##_unpack(params, packed, plain);                                                     \
    return LK_OK;                                                                                  \
  }
#define PACKER_OF_RUNS(name)                                                                       \
  PACKER(name)                                                                                     \
  static lk_status pack_##name##_in_run(const void *params, void *const *pointers,                 \
                                        lk_error *error) {                                         \
    return pack_##name(params, pointers[0], pointers[1], error);                                   \
  }
PACKER_OF_RUNS(conv)
PACKER_OF_RUNS(conv_transposed)
PACKER_OF_RUNS(depthwise)
PACKER_OF_RUNS(recurrent)
PACKER(matmul)

/* ---- constant, or of a run ---- */

/* How a kernel reads its weights. */
typedef struct weights {
  lk_weights_layout layout;
  lk_packer packer;
  lk_kernel_fn pack; /* with the packer's params, from the plain weights to the packed ones */
  int64_t elements;  /* packed */
  uint32_t input;    /* of the node */
} weights;

/* An input of a run, packed by a step into a temporary. */
static lk_status pack_in_run(lk_planner *planner, const weights *of, lk_operand *out_operand,
                             lk_error *error) {
  lk_operand operands[2];
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, &of->elements);
  LK_RETURN_NOT_OK(lk_planner_input(planner, of->input, LK_LAYOUT_PLAIN, &operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[1], error));
  *out_operand = operands[1];
  return lk_planner_kernel(planner, of->pack, "pack", of->packer.params, of->packer.params_size,
                           operands, 2, error);
}

static lk_status add_weights(lk_planner *planner, const weights *of, lk_operand *out_operand,
                             lk_error *error) {
  if (planner->node->constants[of->input].content == NULL) {
    return pack_in_run(planner, of, out_operand, error);
  }
  return lk_planner_packed(planner, of->input, &of->layout, (size_t)of->elements * sizeof(float),
                           &of->packer, out_operand, error);
}

/* ---- of each kernel ---- */

lk_status lk_conv_weights(lk_planner *planner, const lk_conv *conv, lk_operand *out_operand,
                          lk_error *error) {
  const lk_conv_shape *shape = &conv->shape;
  const weights of = {
      .layout = {{LK_PACKED_CONV, shape->groups, shape->out_channels, shape->in_channels,
                  lk_conv_positions(shape), conv->product.panel, conv->weights_are_last}},
      .packer = {pack_conv, unpack_conv, conv, sizeof *conv},
      .pack = pack_conv_in_run,
      .elements = lk_conv_packed_size(conv),
      .input = 1};
  return add_weights(planner, &of, out_operand, error);
}

lk_status lk_conv_transposed_weights(lk_planner *planner, const lk_conv_transposed *conv,
                                     lk_operand *out_operand, lk_error *error) {
  weights of = {.layout = {{LK_PACKED_CONV_TRANSPOSED}},
                .packer = {pack_conv_transposed, unpack_conv_transposed, conv, sizeof *conv},
                .pack = pack_conv_transposed_in_run,
                .elements = lk_conv_transposed_packed_size(conv),
                .input = 1};
  lk_conv_transposed_layout(conv, &of.layout.numbers[1]);
  return add_weights(planner, &of, out_operand, error);
}

lk_status lk_depthwise_weights(lk_planner *planner, const lk_depthwise *depthwise,
                               lk_operand *out_operand, lk_error *error) {
  weights of = {.layout = {{LK_PACKED_DEPTHWISE}},
                .packer = {pack_depthwise, unpack_depthwise, depthwise, sizeof *depthwise},
                .pack = pack_depthwise_in_run,
                .elements = lk_depthwise_packed_size(depthwise),
                .input = 1};
  lk_depthwise_layout(depthwise, &of.layout.numbers[1]);
  return add_weights(planner, &of, out_operand, error);
}

/* Only constants: those of a run are packed by the kernel itself. */
lk_status lk_matmul_weights(lk_planner *planner, const lk_matmul *matmul, uint32_t input,
                            lk_operand *out_operand, lk_error *error) {
  const weights of = {.layout = {{LK_PACKED_MATMUL, matmul->k, matmul->columns, matmul->b_k,
                                  matmul->b_column, matmul->product.panel}},
                      .packer = {pack_matmul, unpack_matmul, matmul, lk_matmul_size(matmul)},
                      .elements = lk_matmul_packed_size(matmul),
                      .input = input};
  return add_weights(planner, &of, out_operand, error);
}

lk_status lk_recurrent_r(lk_planner *planner, const lk_recurrent_weights *weights_of,
                         uint32_t input, lk_operand *out_operand, lk_error *error) {
  const lk_product *parts = weights_of->parts;
  weights of = {.layout = {{LK_PACKED_RECURRENT, weights_of->directions, weights_of->hidden}},
                .packer = {pack_recurrent, unpack_recurrent, weights_of, sizeof *weights_of},
                .pack = pack_recurrent_in_run,
                .elements = lk_recurrent_packed_size(weights_of),
                .input = input};
  for (int64_t i = 0; i < weights_of->n_parts; i++) {
    of.layout.numbers[3 + 2 * i] = parts[i].columns;
    of.layout.numbers[4 + 2 * i] = parts[i].panel;
  }
  return add_weights(planner, &of, out_operand, error);
}
