/* Steps of convolutions and matrix products on the microkernels. */
#include "ops/plan/product_steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/plan/eltwise_steps.h"

/* ---- post-ops ---- */

/* What a product does to its output before it leaves the registers: the first post-ops of the
 * node. */
typedef struct ends {
  int32_t bias, residual; /* inputs of the node; -1: none */
  float low, high;
  uint32_t count; /* of post-ops that these are */
} ends;

/* A number for each of `columns`, which is what a bias is. */
static bool is_row(const lk_tensor_desc *desc, int64_t columns) {
  return desc->rank > 0 && desc->dims[desc->rank - 1] == columns && lk_elements(desc) == columns;
}

/* `columns`: of the product, if a row of them may be added; else 0. */
static bool adds(const lk_planner *planner, const lk_post_op *post_op, int64_t columns,
                 ends *found) {
  if (post_op->kind != LK_POST_ADD) return false;
  const lk_tensor_desc *operand = &planner->inputs[post_op->input].desc;
  if (columns > 0 && found->bias < 0 && is_row(operand, columns)) {
    found->bias = post_op->input;
  } else if (found->residual < 0 && lk_shape_equal(operand, &planner->body->outputs[0])) {
    found->residual = post_op->input;
  } else {
    return false;
  }
  return true;
}

/* Relu with a slope clips nothing. */
static bool clips(const lk_post_op *post_op, ends *found) {
  if (post_op->kind == LK_POST_CLIP) {
    found->low = post_op->alpha;
    found->high = post_op->beta;
  } else if (post_op->kind == LK_POST_RELU && post_op->alpha == 0.0F) {
    found->low = 0;
  } else {
    return false;
  }
  return true;
}

static ends find_ends(const lk_planner *planner, int64_t columns) {
  const lk_op_node *node = planner->node;
  ends found = {.bias = -1, .residual = -1, .low = -INFINITY, .high = INFINITY};
  while (found.count < node->n_post_ops &&
         adds(planner, &node->post_ops[found.count], columns, &found)) {
    found.count++;
  }
  if (found.count < node->n_post_ops && clips(&node->post_ops[found.count], &found)) found.count++;
  return found;
}

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

static lk_status add_input(lk_planner *planner, int32_t index, lk_layout layout,
                           lk_operand *operands, uint32_t *n_operands, lk_error *error) {
  if (index < 0) return LK_OK;
  return lk_planner_input(planner, (uint32_t)index, layout, &operands[(*n_operands)++], error);
}

/* What the step that was emitted last does, `products` times. */
static lk_status describe_step(lk_planner *planner, const lk_product *product, int64_t products,
                               const lk_operand *operands, uint32_t n_operands, lk_error *error) {
  char tiles[96];
  const double terms = (double)(products * product->taps) * (double)product->k;
  double bytes = 0;
  for (uint32_t i = 0; i < n_operands; i++) {
    bytes += (double)lk_elements(&operands[i].desc) * sizeof(float);
  }
  planner->body->implementation = "tiles";
  lk_planner_work(planner, 2 * terms * (double)product->rows * (double)product->columns, bytes);
  lk_product_describe(product, tiles, sizeof tiles);
  return lk_planner_tiles(planner, tiles, error);
}

bool lk_plan_conv_takes_post_ops(const lk_planner *planner) {
  return find_ends(planner, 0).count == planner->node->n_post_ops;
}

lk_status lk_plan_conv(lk_planner *planner, lk_conv *conv, lk_error *error) {
  const ends found = find_ends(planner, 0);
  const lk_layout layout = LK_LAYOUT_CHANNELS_LAST;
  lk_operand operands[5];
  uint32_t n = 3;
  conv->isa = lk_isa_get();
  conv->has_residual = found.residual >= 0;
  conv->low = found.low;
  conv->high = found.high;
  lk_conv_plan(conv);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &operands[0], error));
  LK_RETURN_NOT_OK(conv_weights(planner, conv, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[2], error));
  LK_RETURN_NOT_OK(
      add_input(planner, conv->has_bias ? 2 : -1, LK_LAYOUT_PLAIN, operands, &n, error));
  LK_RETURN_NOT_OK(add_input(planner, found.residual, layout, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_conv_kernel, "conv_tiles", conv, sizeof *conv,
                                     operands, n, error));
  LK_RETURN_NOT_OK(describe_step(planner, &conv->product, conv->groups, operands, n, error));
  return lk_plan_post_ops(planner, found.count, &operands[2], error);
}

lk_status lk_plan_matmul(lk_planner *planner, lk_matmul *matmul, bool has_columns,
                         lk_error *error) {
  const ends found = find_ends(planner, has_columns ? matmul->columns : 0);
  const lk_layout layout = LK_LAYOUT_PLAIN;
  lk_operand operands[6];
  uint32_t n = 3;
  matmul->isa = lk_isa_get();
  matmul->b_is_packed = planner->node->constants[1].content != NULL &&
                        lk_elements(&planner->inputs[1].desc) == matmul->k * matmul->columns;
  matmul->has_bias = found.bias >= 0;
  matmul->has_residual = found.residual >= 0;
  matmul->low = found.low;
  matmul->high = found.high;
  lk_matmul_plan(matmul);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &operands[0], error));
  LK_RETURN_NOT_OK(matmul->b_is_packed ? matmul_weights(planner, matmul, &operands[1], error)
                                       : lk_planner_input(planner, 1, layout, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[2], error));
  LK_RETURN_NOT_OK(add_input(planner, found.bias, layout, operands, &n, error));
  LK_RETURN_NOT_OK(add_input(planner, found.residual, layout, operands, &n, error));
  const int64_t scratch = lk_matmul_scratch_size(matmul);
  if (scratch > 0) {
    const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, &scratch);
    LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[n++], error));
  }
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_matmul_kernel, "matmul_tiles", matmul,
                                     sizeof *matmul, operands, n, error));
  LK_RETURN_NOT_OK(describe_step(planner, &matmul->product, matmul->batches, operands, n, error));
  return lk_plan_post_ops(planner, found.count, &operands[2], error);
}
