/* Steps of matrix products, and what those of convolutions share with them. */
#include "ops/plan/product_steps.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/conv/depthwise_planes.h"
#include "ops/plan/eltwise_steps.h"
#include "ops/plan/moves.h"
#include "ops/plan/product_ends.h"
#include "ops/plan/product_weights.h"

/* ---- steps ---- */

lk_status lk_product_step_input(lk_planner *planner, lk_product_step *step, int32_t index,
                                lk_layout layout, lk_error *error) {
  if (index < 0) return LK_OK;
  return lk_planner_input(planner, (uint32_t)index, layout, &step->operands[step->n_operands++],
                          error);
}

lk_status lk_product_step_chain(lk_planner *planner, lk_product_step *step, lk_error *error) {
  const lk_product_chain *chain = &step->ends.chain;
  for (uint32_t i = 0; i < chain->n_operands; i++) {
    const bool is_full = chain->row_step[i] != 0 && chain->column_step[i] != 0;
    LK_RETURN_NOT_OK(lk_product_step_input(planner, step, (int32_t)step->ends.chain_inputs[i],
                                           is_full ? step->of.output.layout : LK_LAYOUT_PLAIN,
                                           error));
  }
  return LK_OK;
}

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
static lk_status add_chain_params(lk_planner *planner, const lk_product_step *step,
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

lk_status lk_product_step_emit(lk_planner *planner, lk_product_step *step,
                               const lk_product_kernel *kernel, lk_error *error) {
  const void *params = kernel->params;
  size_t size = kernel->size;
  if (step->ends.has_chain)
    LK_RETURN_NOT_OK(add_chain_params(planner, step, &params, &size, error));
  LK_RETURN_NOT_OK(lk_planner_kernel(planner, kernel->run, kernel->kind, params, size,
                                     step->operands, step->n_operands, error));
  lk_planner_flops(planner, kernel->operations);
  return lk_plan_post_ops(planner, step->ends.count, &step->operands[2], error);
}

lk_status lk_product_step_begin(lk_planner *planner, lk_product_output output,
                                lk_product_step *step, lk_error *error) {
  step->of = (lk_product_ends_of){planner->node, planner->inputs, &planner->outputs[0], output};
  step->n_operands = 3;
  lk_product_ends_find(&step->of, &step->ends);
  return lk_product_ends_plan(&step->of, &step->ends, error);
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

/* The product of f32 that `matmul` describes, whose right operand is the constant `input` where it
 * is packed, with a bias where it is not NULL. */
static lk_status plan_step(lk_planner *planner, lk_matmul *matmul, const lk_operand operands[3],
                           uint32_t input, const lk_operand *bias, lk_error *error) {
  lk_operand all[5] = {operands[0], operands[1], operands[2]};
  uint32_t n = 3;
  matmul->isa = lk_isa_get();
  matmul->has_bias = bias != NULL;
  matmul->low = -INFINITY;
  matmul->high = INFINITY;
  lk_matmul_plan(matmul);
  if (matmul->b_is_packed && matmul->k > 0) {
    LK_RETURN_NOT_OK(lk_matmul_weights(planner, matmul, input, &all[1], error));
  }
  if (bias != NULL) all[n++] = *bias;
  return add_matmul(planner, matmul, all, n, error);
}

lk_status lk_plan_product(lk_planner *planner, lk_matmul *matmul, const lk_operand *a,
                          const lk_operand *b, const lk_operand *c, lk_error *error) {
  const lk_operand operands[3] = {*a, *b, *c};
  if (lk_matmul_plain_takes(c->desc.dtype)) return plan_plain(planner, matmul, operands, error);
  return plan_step(planner, matmul, operands, 0, NULL, error);
}

lk_status lk_plan_projection(lk_planner *planner, lk_matmul *matmul, const lk_operand *a,
                             uint32_t b, const lk_operand *bias, const lk_operand *c,
                             lk_error *error) {
  lk_operand operands[3] = {*a, *c, *c};
  matmul->b_is_packed = matmul->k == 0 || planner->node->constants[b].content != NULL;
  if (!matmul->b_is_packed) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, b, LK_LAYOUT_PLAIN, &operands[1], error));
  }
  return plan_step(planner, matmul, operands, b, bias, error);
}

lk_layout lk_matmul_layout(lk_planner *planner, uint32_t index) {
  return planner->inputs[1].desc.rank > 2 ? lk_rows_layout(planner, index) : LK_LAYOUT_PLAIN;
}

lk_status lk_plan_matmul_by(lk_planner *planner, lk_matmul *matmul, bool has_columns,
                            lk_layout left, lk_take_right_fn *take_right, const void *right,
                            lk_error *error) {
  const lk_layout layout = LK_LAYOUT_PLAIN;
  const uint32_t rank = planner->outputs[0].rank;
  const lk_product_output output = {.layout = layout,
                                    .column_dim = has_columns ? (int32_t)rank - 1 : -1,
                                    .row_step = matmul->columns,
                                    .bias_is_post_op = has_columns};
  lk_product_step step;
  lk_operand *operands = step.operands;
  LK_RETURN_NOT_OK(lk_product_step_begin(planner, output, &step, error));
  matmul->isa = lk_isa_get();
  matmul->has_bias = step.ends.bias >= 0;
  matmul->has_residual = step.ends.residual >= 0;
  matmul->has_chain = step.ends.has_chain;
  matmul->low = step.ends.low;
  matmul->high = step.ends.high;
  lk_matmul_plan(matmul);
  LK_RETURN_NOT_OK(lk_planner_input(planner, 0, left, &operands[0], error));
  LK_RETURN_NOT_OK(take_right(planner, right, matmul, &operands[1], error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &operands[2], error));
  LK_RETURN_NOT_OK(lk_product_step_input(planner, &step, step.ends.bias, layout, error));
  LK_RETURN_NOT_OK(lk_product_step_input(planner, &step, step.ends.residual, layout, error));
  LK_RETURN_NOT_OK(add_scratch(planner, matmul, operands, &step.n_operands, error));
  LK_RETURN_NOT_OK(lk_product_step_chain(planner, &step, error));
  const lk_product_kernel kernel = {lk_matmul_kernel, "matmul", matmul, lk_matmul_size(matmul),
                                    lk_product_operations(&matmul->product, matmul->batches)};
  return lk_product_step_emit(planner, &step, &kernel, error);
}

static lk_status take_second(lk_planner *planner, const void *right, const lk_matmul *matmul,
                             lk_operand *out_operand, lk_error *error) {
  (void)right;
  return matmul->b_is_packed
             ? lk_matmul_weights(planner, matmul, 1, out_operand, error)
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
                           NULL, error);
}
