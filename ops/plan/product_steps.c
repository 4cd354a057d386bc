/* Steps of convolutions and matrix products on the microkernels. */
#include "ops/plan/product_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/product_ends.h"

/* ---- weights ---- */

/* What the store needs to write a copy, and to read it back for as long as it lives. */
typedef struct packer {
  const lk_allocator *allocator;
  union {
    lk_conv conv;
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

static lk_status conv_weights(lk_planner *planner, const lk_conv *conv, lk_operand *out_operand,
                              lk_error *error) {
  char text[160];
  const int64_t positions = conv->kernel[0] * conv->kernel[1] * conv->kernel[2];
  (void)snprintf(text, sizeof text,
                 "conv %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 " by %" PRId64, conv->groups,
                 conv->out_channels, conv->in_channels, positions, conv->product.panel);
  packer *self = packer_create(planner, error);
  if (self == NULL) return LK_OUT_OF_MEMORY;
  self->of.conv = *conv;
  const lk_packer callbacks = {pack_conv, unpack_conv, destroy_packer, self};
  return pack_weights(planner, text, lk_conv_packed_size(conv), &callbacks, out_operand, error);
}

static lk_status matmul_weights(lk_planner *planner, const lk_matmul *matmul,
                                lk_operand *out_operand, lk_error *error) {
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

/* ---- steps ---- */

/* A step while it is put together. */
typedef struct product_step {
  const lk_product_output *output;
  lk_product_ends ends;
  lk_operand operands[5 + LK_PRODUCT_CHAIN_OPERANDS];
  uint32_t n_operands;
  uint32_t scratch; /* which of them is scratch memory; 0: none */
} product_step;

static lk_status add_input(lk_planner *planner, product_step *step, int32_t index, lk_layout layout,
                           lk_error *error) {
  if (index < 0) return LK_OK;
  return lk_planner_input(planner, (uint32_t)index, layout, &step->operands[step->n_operands++],
                          error);
}

/* Operands of the output's shape lie as it does; others have one number for a row, or one for a
 * column, in any layout. */
static lk_status add_chain(lk_planner *planner, product_step *step, lk_error *error) {
  const lk_product_chain *chain = &step->ends.chain;
  for (uint32_t i = 0; i < chain->n_operands; i++) {
    const bool is_full = chain->row_step[i] != 0 && chain->column_step[i] != 0;
    LK_RETURN_NOT_OK(add_input(planner, step, (int32_t)step->ends.chain_inputs[i],
                               is_full ? step->output->layout : LK_LAYOUT_PLAIN, error));
  }
  return LK_OK;
}

static lk_status emit(lk_planner *planner, product_step *step, lk_kernel_fn kernel,
                      const char *kind, const void *params, size_t size, const lk_product *product,
                      int64_t products, lk_error *error) {
  lk_status status = LK_OK;
  char tiles[96];
  double bytes = 0;
  const size_t chain = step->ends.has_chain ? lk_product_chain_size(&step->ends.chain) : 0;
  unsigned char *both = lk_alloc(planner->env->allocator, size + chain);
  if (both == NULL) return lk_fail_memory(error, "a kernel's parameters", size + chain);
  memcpy(both, params, size);
  if (chain > 0) memcpy(both + size, &step->ends.chain, chain);
  LK_TRY(lk_planner_kernel(planner, kernel, kind, both, size + chain, step->operands,
                           step->n_operands, error));
  for (uint32_t i = 0; i < step->n_operands; i++) {
    if (i > 0 && i == step->scratch) continue;
    bytes += (double)lk_elements(&step->operands[i].desc) * sizeof(float);
  }
  planner->body->implementation = "tiles";
  lk_planner_work(planner, lk_product_operations(product, products), bytes);
  lk_product_describe(product, tiles, sizeof tiles);
  LK_TRY(lk_planner_tiles(planner, tiles, error));
  LK_TRY(lk_plan_post_ops(planner, step->ends.count, &step->operands[2], error));
cleanup:
  lk_free(planner->env->allocator, both);
  return status;
}

lk_status lk_plan_conv(lk_planner *planner, lk_conv *conv, lk_error *error) {
  const lk_layout layout = LK_LAYOUT_CHANNELS_LAST;
  const lk_product_output output = {
      .layout = layout, .column_dim = 1, .row_step = conv->groups * conv->out_channels};
  product_step step = {.output = &output, .n_operands = 3};
  lk_operand *operands = step.operands;
  LK_RETURN_NOT_OK(lk_product_ends_find(planner, &output, &step.ends, error));
  conv->isa = lk_isa_get();
  conv->has_residual = step.ends.residual >= 0;
  conv->has_chain = step.ends.has_chain;
  conv->low = step.ends.low;
  conv->high = step.ends.high;
  lk_conv_plan(conv);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &operands[0], error));
  LK_RETURN_NOT_OK(conv_weights(planner, conv, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[2], error));
  LK_RETURN_NOT_OK(add_input(planner, &step, conv->has_bias ? 2 : -1, LK_LAYOUT_PLAIN, error));
  LK_RETURN_NOT_OK(add_input(planner, &step, step.ends.residual, layout, error));
  LK_RETURN_NOT_OK(add_chain(planner, &step, error));
  return emit(planner, &step, lk_conv_kernel, "convolution", conv, sizeof *conv, &conv->product,
              conv->groups, error);
}

lk_status lk_plan_matmul(lk_planner *planner, lk_matmul *matmul, bool has_columns,
                         lk_error *error) {
  const lk_layout layout = LK_LAYOUT_PLAIN;
  const uint32_t rank = planner->body->outputs[0].rank;
  const lk_product_output output = {.layout = layout,
                                    .column_dim = has_columns ? (int32_t)rank - 1 : -1,
                                    .row_step = matmul->columns,
                                    .bias_is_post_op = has_columns};
  product_step step = {.output = &output, .n_operands = 3};
  lk_operand *operands = step.operands;
  LK_RETURN_NOT_OK(lk_product_ends_find(planner, &output, &step.ends, error));
  matmul->isa = lk_isa_get();
  matmul->b_is_packed = planner->node->constants[1].content != NULL &&
                        lk_elements(&planner->inputs[1].desc) == matmul->k * matmul->columns;
  matmul->has_bias = step.ends.bias >= 0;
  matmul->has_residual = step.ends.residual >= 0;
  matmul->has_chain = step.ends.has_chain;
  matmul->low = step.ends.low;
  matmul->high = step.ends.high;
  lk_matmul_plan(matmul);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &operands[0], error));
  LK_RETURN_NOT_OK(matmul->b_is_packed ? matmul_weights(planner, matmul, &operands[1], error)
                                       : lk_planner_input(planner, 1, layout, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[2], error));
  LK_RETURN_NOT_OK(add_input(planner, &step, step.ends.bias, layout, error));
  LK_RETURN_NOT_OK(add_input(planner, &step, step.ends.residual, layout, error));
  const int64_t scratch = lk_matmul_scratch_size(matmul);
  if (scratch > 0) {
    const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, &scratch);
    step.scratch = step.n_operands++;
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[step.scratch], error));
  }
  LK_RETURN_NOT_OK(add_chain(planner, &step, error));
  return emit(planner, &step, lk_matmul_kernel, "matmul", matmul, lk_matmul_size(matmul),
              &matmul->product, matmul->batches, error);
}
