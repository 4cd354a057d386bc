/* Steps of convolutions and matrix products on the microkernels. */
#include "ops/plan/product_steps.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/conv/depthwise_planes.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/product_ends.h"
#include "ops/plan/product_weights.h"

/* ---- steps ---- */

/* A step while it is put together. */
typedef struct product_step {
  lk_product_ends_of of;
  lk_product_ends ends;
  lk_operand operands[5 + LK_PRODUCT_CHAIN_OPERANDS];
  uint32_t n_operands;
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
                               is_full ? step->of.output.layout : LK_LAYOUT_PLAIN, error));
  }
  return LK_OK;
}

/* What computes, and its params without the chain. */
typedef struct product_kernel {
  lk_kernel_fn run;
  const char *kind;
  const void *params;
  size_t size;
  double operations;
} product_kernel;

void lk_product_step_describe(const lk_step *step, char *text, size_t capacity) {
  if (step->kernel == lk_conv_kernel) {
    lk_product_describe(&((const lk_conv *)step->params)->product, text, capacity);
  } else if (step->kernel == lk_conv_transposed_kernel) {
    lk_conv_transposed_describe(step->params, text, capacity);
  } else if (step->kernel == lk_depthwise_kernel) {
    lk_depthwise_describe(step->params, text, capacity);
  } else if (step->kernel == lk_depthwise_planes_kernel) {
    lk_depthwise_planes_describe(step->params, text, capacity);
  } else if (step->kernel == lk_matmul_kernel) {
    lk_product_describe(&((const lk_matmul *)step->params)->product, text, capacity);
  } else {
    text[0] = '\0';
  }
}

/* Puts the chain behind the params. */
static lk_status add_chain_params(lk_planner *planner, const product_step *step,
                                  const void **inout_params, size_t *inout_size, lk_error *error) {
  const size_t chain = lk_product_chain_size(&step->ends.chain);
  unsigned char *both = lk_bump_alloc(&planner->memory, *inout_size + chain);
  if (both == NULL) return lk_fail_memory(error, "a kernel's parameters", *inout_size + chain);
  memcpy(both, *inout_params, *inout_size);
  memcpy(both + *inout_size, &step->ends.chain, chain);
  *inout_params = both;
  *inout_size += chain;
  return LK_OK;
}

static lk_status emit(lk_planner *planner, product_step *step, const product_kernel *kernel,
                      lk_error *error) {
  const void *params = kernel->params;
  size_t size = kernel->size;
  if (step->ends.has_chain)
    LK_RETURN_NOT_OK(add_chain_params(planner, step, &params, &size, error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, kernel->run, kernel->kind, params, size,
                                     step->operands, step->n_operands, error));
  lk_planner_flops(planner, kernel->operations);
  return lk_plan_post_ops(planner, step->ends.count, &step->operands[2], error);
}

/* What follows the sums; `output`: the rows and columns of the product. */
static lk_status begin_step(lk_planner *planner, lk_product_output output, product_step *step,
                            lk_error *error) {
  step->of = (lk_product_ends_of){planner->node, planner->inputs, &planner->outputs[0], output};
  step->n_operands = 3;
  lk_product_ends_find(&step->of, &step->ends);
  return lk_product_ends_plan(&step->of, &step->ends, error);
}

/* A step on tensors in the layout of `output`, but for its weights, operand 1, and the input in
 * `layout`. */
static lk_status begin_conv(lk_planner *planner, lk_product_output output, lk_layout layout,
                            product_step *step, lk_error *error) {
  LK_RETURN_NOT_OK(begin_step(planner, output, step, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, layout, &step->operands[0], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, output.layout, &step->operands[2], error));
  const int32_t bias = lk_op_has(planner->node, 2) ? 2 : -1;
  LK_RETURN_NOT_OK(add_input(planner, step, bias, LK_LAYOUT_PLAIN, error));
  LK_RETURN_NOT_OK(add_input(planner, step, step->ends.residual, output.layout, error));
  return add_chain(planner, step, error);
}

/* ---- convolutions: what is true of the first plan, and of those for further sizes ---- */

static lk_product_output channels_last(const lk_conv_shape *shape) {
  return (lk_product_output){.layout = LK_LAYOUT_CHANNELS_LAST,
                             .column_dim = 1,
                             .row_step = shape->groups * shape->out_channels};
}

/* Of lk_depthwise_kernel: each channel has sums of its own, and no registers are left. */
static lk_product_output depthwise_output(const lk_conv_shape *shape) {
  lk_product_output output = channels_last(shape);
  output.chains_residual = true;
  return output;
}

/* Lines are the rows, columns of the image the columns. */
static lk_product_output planes_output(const lk_conv_shape *shape, const lk_tensor_desc *to) {
  return (lk_product_output){.layout = LK_LAYOUT_PLAIN,
                             .column_dim = (int32_t)to->rank - 1,
                             .row_step = shape->out[2],
                             .chains_residual = true};
}

/* Each sets what depends on sizes, and returns the operations of a run. */
static double size_conv(lk_conv *conv, const lk_conv_shape *shape) {
  conv->shape = *shape;
  lk_conv_plan(conv);
  return lk_product_operations(&conv->product, shape->groups);
}
static double size_depthwise(lk_depthwise *conv, const lk_conv_shape *shape) {
  conv->shape = *shape;
  lk_depthwise_plan(conv, lk_isa_get());
  return lk_depthwise_operations(conv);
}
static double size_planes(lk_depthwise_planes *conv, const lk_conv_shape *shape) {
  conv->shape = *shape;
  lk_depthwise_planes_plan(conv, lk_isa_get());
  return lk_depthwise_planes_operations(conv);
}

static lk_status plan_conv(lk_planner *planner, const lk_conv_shape *shape,
                           lk_product_output output, bool weights_are_last, lk_error *error) {
  const bool has_planes = output.layout == LK_LAYOUT_CHANNELS_LAST &&
                          planner->inputs[0].desc.layout == LK_LAYOUT_PLAIN &&
                          lk_conv_takes_planes(shape);
  const lk_layout layout = has_planes ? LK_LAYOUT_PLAIN : output.layout;
  product_step step;
  LK_RETURN_NOT_OK(begin_conv(planner, output, layout, &step, error));
  lk_conv conv = {.has_planes = has_planes,
                  .weights_are_last = weights_are_last,
                  .isa = lk_isa_get(),
                  .product = {.low = step.ends.low, .high = step.ends.high},
                  .has_bias = lk_op_has(planner->node, 2),
                  .has_residual = step.ends.residual >= 0,
                  .has_chain = step.ends.has_chain};
  const double operations = size_conv(&conv, shape);
  LK_RETURN_NOT_OK(lk_conv_weights(planner, &conv, &step.operands[1], error));
  const product_kernel kernel = {lk_conv_kernel, "convolution", &conv, sizeof conv, operations};
  return emit(planner, &step, &kernel, error);
}

lk_status lk_plan_conv(lk_planner *planner, const lk_conv_shape *shape, lk_error *error) {
  return plan_conv(planner, shape, channels_last(shape), false, error);
}

lk_status lk_plan_conv_last(lk_planner *planner, const lk_conv_shape *shape, bool weights_are_last,
                            lk_error *error) {
  lk_product_output output = channels_last(shape);
  output.layout = LK_LAYOUT_PLAIN;
  output.column_dim = (int32_t)planner->outputs[0].rank - 1;
  return plan_conv(planner, shape, output, weights_are_last, error);
}

lk_status lk_plan_conv_transposed(lk_planner *planner, const lk_conv_shape *shape,
                                  lk_error *error) {
  const lk_product_output output = channels_last(shape);
  product_step step;
  LK_RETURN_NOT_OK(begin_conv(planner, output, output.layout, &step, error));
  lk_conv_transposed conv = {.shape = *shape,
                             .isa = lk_isa_get(),
                             .low = step.ends.low,
                             .high = step.ends.high,
                             .has_bias = lk_op_has(planner->node, 2),
                             .has_residual = step.ends.residual >= 0,
                             .has_chain = step.ends.has_chain,
                             .has_chain_operands = step.ends.chain.n_operands > 0};
  lk_conv_transposed_plan(&conv);
  LK_RETURN_NOT_OK(lk_conv_transposed_weights(planner, &conv, &step.operands[1], error));
  const product_kernel kernel = {lk_conv_transposed_kernel, "deconvolution", &conv, sizeof conv,
                                 lk_conv_transposed_operations(&conv)};
  return emit(planner, &step, &kernel, error);
}

static lk_status plan_depthwise_planes(lk_planner *planner, const lk_conv_shape *shape,
                                       lk_error *error) {
  const lk_product_output output = planes_output(shape, &planner->outputs[0]);
  product_step step;
  LK_RETURN_NOT_OK(begin_conv(planner, output, output.layout, &step, error));
  LK_RETURN_NOT_OK(lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &step.operands[1], error));
  lk_depthwise_planes conv = {.has_bias = lk_op_has(planner->node, 2),
                              .has_chain = step.ends.has_chain,
                              .low = step.ends.low,
                              .high = step.ends.high};
  const double operations = size_planes(&conv, shape);
  const product_kernel kernel = {lk_depthwise_planes_kernel, "convolution", &conv, sizeof conv,
                                 operations};
  return emit(planner, &step, &kernel, error);
}

bool lk_conv_wants_planes(lk_planner *planner) {
  return planner->inputs[0].desc.layout == LK_LAYOUT_PLAIN &&
         lk_planner_wish(planner, 0, LK_LAYOUT_CHANNELS_LAST) == LK_LAYOUT_PLAIN;
}

lk_status lk_plan_depthwise(lk_planner *planner, const lk_conv_shape *shape, bool is_transposed,
                            lk_error *error) {
  if (!is_transposed && lk_conv_wants_planes(planner) && lk_depthwise_planes_takes(shape)) {
    return plan_depthwise_planes(planner, shape, error);
  }
  const lk_product_output output = depthwise_output(shape);
  product_step step;
  LK_RETURN_NOT_OK(begin_conv(planner, output, output.layout, &step, error));
  lk_depthwise conv = {.is_transposed = is_transposed,
                       .low = step.ends.low,
                       .high = step.ends.high,
                       .has_bias = lk_op_has(planner->node, 2),
                       .has_chain = step.ends.has_chain};
  const double operations = size_depthwise(&conv, shape);
  LK_RETURN_NOT_OK(lk_depthwise_weights(planner, &conv, &step.operands[1], error));
  const product_kernel kernel = {lk_depthwise_kernel,
                                 is_transposed ? "deconvolution" : "convolution", &conv,
                                 sizeof conv, operations};
  return emit(planner, &step, &kernel, error);
}

/* Plans of the kernels that are named here have the same kernel for each size: the groups, channels
 * and kernel are those of the first plan, and so are the layouts. Others are planned anew, such as
 * products of planes, which a transposed convolution is where that product is not too large. */
bool lk_resize_conv(const lk_resizing *self, const lk_conv_shape *shape) {
  lk_step *step = self->step;
  lk_product_ends_of of = {.node = self->node, .inputs = self->inputs, .to = self->output};
  double operations = 0;
  size_t size = 0; /* of the params, behind which the chain lies */
  bool has_chain = false;
  if (step->kernel == lk_conv_kernel) {
    lk_conv *conv = self->params;
    operations = size_conv(conv, shape);
    size = sizeof *conv;
    has_chain = conv->has_chain;
    of.output = channels_last(shape);
  } else if (step->kernel == lk_depthwise_planes_kernel) {
    lk_depthwise_planes *conv = self->params;
    operations = size_planes(conv, shape);
    size = sizeof *conv;
    has_chain = conv->has_chain;
    of.output = planes_output(shape, self->output);
  } else if (step->kernel == lk_depthwise_kernel) {
    lk_depthwise *conv = self->params;
    operations = size_depthwise(conv, shape);
    size = sizeof *conv;
    has_chain = conv->has_chain;
    of.output = depthwise_output(shape);
  } else {
    return false;
  }
  step->flops = (float)operations;
  void *chain = (unsigned char *)self->params + size;
  return lk_product_ends_resize(&of, has_chain ? chain : NULL);
}

/* Where the right operand is packed in each run, behind the other operands. */
static lk_status add_scratch(lk_planner *planner, const lk_matmul *matmul, lk_operand *operands,
                             uint32_t *inout_n, lk_error *error) {
  const int64_t scratch = lk_matmul_scratch_size(matmul);
  if (scratch == 0) return LK_OK;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 1, &scratch);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &operands[*inout_n], error));
  operands[(*inout_n)++].desc.dims[0] = 0; /* what it moves is no work of the product's */
  return LK_OK;
}

/* The step of a product that is planned; `operands` has room for scratch memory behind all. */
static lk_status add_matmul(lk_planner *planner, const lk_matmul *matmul, lk_operand *operands,
                            uint32_t n, lk_error *error) {
  LK_RETURN_NOT_OK(add_scratch(planner, matmul, operands, &n, error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_matmul_kernel, "matmul", matmul,
                                     lk_matmul_size(matmul), operands, n, error));
  lk_planner_flops(planner, lk_product_operations(&matmul->product, matmul->batches));
  return LK_OK;
}

static lk_status plan_plain(lk_planner *planner, const lk_matmul *matmul,
                            const lk_operand operands[3], lk_error *error) {
  lk_matmul_plain step;
  lk_matmul_plain_plan(matmul, operands[2].desc.dtype, lk_isa_get(), &step);
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, lk_matmul_plain_kernel, "matmul", &step,
                                     lk_matmul_plain_size(&step), operands, 3, error));
  lk_planner_flops(planner, lk_matmul_plain_operations(&step));
  return LK_OK;
}

lk_status lk_plan_product(lk_planner *planner, lk_matmul *matmul, const lk_operand *a,
                          const lk_operand *b, const lk_operand *c, lk_error *error) {
  lk_operand operands[4] = {*a, *b, *c};
  if (lk_matmul_plain_takes(c->desc.dtype)) return plan_plain(planner, matmul, operands, error);
  matmul->isa = lk_isa_get();
  matmul->low = -INFINITY;
  matmul->high = INFINITY;
  lk_matmul_plan(matmul);
  return add_matmul(planner, matmul, operands, 3, error);
}

lk_status lk_plan_projection(lk_planner *planner, lk_matmul *matmul, const lk_operand *bias,
                             const lk_operand *c, lk_error *error) {
  lk_operand operands[5] = {*c, *c, *c}; /* sums of nothing read neither input */
  const bool is_constant = planner->node->constants[1].content != NULL;
  uint32_t n = 3;
  matmul->isa = lk_isa_get();
  matmul->b_is_packed = is_constant || matmul->k == 0;
  matmul->has_bias = bias != NULL;
  matmul->low = -INFINITY;
  matmul->high = INFINITY;
  lk_matmul_plan(matmul);
  if (matmul->k > 0) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, 0, LK_LAYOUT_PLAIN, &operands[0], error));
    LK_RETURN_NOT_OK(is_constant
                         ? lk_matmul_weights(planner, matmul, &operands[1], error)
                         : lk_planner_input(planner, 1, LK_LAYOUT_PLAIN, &operands[1], error));
  }
  if (bias != NULL) operands[n++] = *bias;
  return add_matmul(planner, matmul, operands, n, error);
}

lk_layout lk_matmul_layout(lk_planner *planner, uint32_t index) {
  return planner->inputs[1].desc.rank > 2 ? lk_rows_layout(planner, index) : LK_LAYOUT_PLAIN;
}

lk_status lk_plan_matmul_by(lk_planner *planner, lk_matmul *matmul, bool has_columns,
                            lk_layout left, lk_take_right_fn *take_right, lk_error *error) {
  const lk_layout layout = LK_LAYOUT_PLAIN;
  const uint32_t rank = planner->outputs[0].rank;
  const lk_product_output output = {.layout = layout,
                                    .column_dim = has_columns ? (int32_t)rank - 1 : -1,
                                    .row_step = matmul->columns,
                                    .bias_is_post_op = has_columns};
  product_step step;
  lk_operand *operands = step.operands;
  LK_RETURN_NOT_OK(begin_step(planner, output, &step, error));
  matmul->isa = lk_isa_get();
  matmul->has_bias = step.ends.bias >= 0;
  matmul->has_residual = step.ends.residual >= 0;
  matmul->has_chain = step.ends.has_chain;
  matmul->low = step.ends.low;
  matmul->high = step.ends.high;
  lk_matmul_plan(matmul);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, left, &operands[0], error));
  LK_RETURN_NOT_OK(take_right(planner, matmul, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[2], error));
  LK_RETURN_NOT_OK(add_input(planner, &step, step.ends.bias, layout, error));
  LK_RETURN_NOT_OK(add_input(planner, &step, step.ends.residual, layout, error));
  LK_RETURN_NOT_OK(add_scratch(planner, matmul, operands, &step.n_operands, error));
  LK_RETURN_NOT_OK(add_chain(planner, &step, error));
  const product_kernel kernel = {lk_matmul_kernel, "matmul", matmul, lk_matmul_size(matmul),
                                 lk_product_operations(&matmul->product, matmul->batches)};
  return emit(planner, &step, &kernel, error);
}

static lk_status take_second(lk_planner *planner, const lk_matmul *matmul, lk_operand *out_operand,
                             lk_error *error) {
  return matmul->b_is_packed
             ? lk_matmul_weights(planner, matmul, out_operand, error)
             : lk_planner_input(planner, 1, lk_matmul_layout(planner, 1), out_operand, error);
}

lk_status lk_plan_plain_matmul(lk_planner *planner, const lk_matmul *matmul, lk_operand *out_to,
                               lk_error *error) {
  lk_operand operands[3];
  for (uint32_t i = 0; i < 2; i++) {
    LK_RETURN_NOT_OK(
        lk_planner_input(planner, i, lk_matmul_layout(planner, i), &operands[i], error));
  }
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, LK_LAYOUT_PLAIN, &operands[2], error));
  *out_to = operands[2];
  return plan_plain(planner, matmul, operands, error);
}

lk_status lk_plan_matmul(lk_planner *planner, lk_matmul *matmul, bool has_columns,
                         lk_error *error) {
  if (lk_matmul_plain_takes(planner->outputs[0].dtype)) {
    lk_operand to;
    LK_RETURN_NOT_OK(lk_plan_plain_matmul(planner, matmul, &to, error));
    return lk_plan_post_ops(planner, 0, &to, error);
  }
  matmul->b_is_packed = planner->node->constants[1].content != NULL &&
                        lk_elements(&planner->inputs[1].desc) == matmul->k * matmul->columns;
  return lk_plan_matmul_by(planner, matmul, has_columns, lk_matmul_layout(planner, 0), take_second,
                           error);
}
