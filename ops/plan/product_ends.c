/* Post-ops of a product: bias, residual and bounds in registers, the others as an element
 * program. */
#include "ops/plan/product_ends.h"

#include <math.h>

#include "base/tensor.h"
#include "ops/plan/post_op_steps.h"

/* ---- how an operand lies beside the output ---- */

/* Steps along rows and columns of C: the operand has a number for each element, for each row, for
 * each column, or one. False: it repeats along some of the dimensions that are rows. */
static bool find_steps(const lk_planner *planner, const lk_product_output *output, uint32_t input,
                       int64_t *out_row, int64_t *out_column) {
  const lk_tensor_desc *to = &planner->outputs[0];
  const lk_tensor_desc *desc = &planner->inputs[input].desc;
  if (desc->rank > to->rank) return false;
  const lk_tensor_desc operand = lk_shape_pad_rank(desc, to->rank);
  bool along_all_rows = true, along_no_rows = true, along_columns = false;
  for (uint32_t i = 0; i < to->rank; i++) {
    if ((int32_t)i == output->column_dim) {
      along_columns = operand.dims[i] == to->dims[i] && to->dims[i] > 1;
    } else {
      along_all_rows = along_all_rows && operand.dims[i] == to->dims[i];
      along_no_rows = along_no_rows && operand.dims[i] == 1;
    }
  }
  *out_column = along_columns ? 1 : 0;
  *out_row = along_columns ? output->row_step : 1;
  if (along_no_rows) *out_row = 0;
  return along_no_rows || along_all_rows;
}

static bool is_row(const lk_planner *planner, const lk_product_output *output, uint32_t input) {
  int64_t row = 0, column = 0;
  return find_steps(planner, output, input, &row, &column) && row == 0 && column == 1;
}

/* ---- in registers ---- */

static bool adds(const lk_planner *planner, const lk_product_output *output,
                 const lk_post_op *post_op, lk_product_ends *ends) {
  if (post_op->kind != LK_POST_ADD) return false;
  const uint32_t input = (uint32_t)post_op->input;
  if (output->bias_is_post_op && ends->bias < 0 && is_row(planner, output, input)) {
    ends->bias = post_op->input;
  } else if (ends->residual < 0 && !output->chains_residual &&
             lk_shape_equal(&planner->inputs[input].desc, &planner->outputs[0])) {
    ends->residual = post_op->input;
  } else {
    return false;
  }
  return true;
}

/* Relu with a slope clips nothing. */
static bool clips(const lk_post_op *post_op, lk_product_ends *ends) {
  if (post_op->kind == LK_POST_CLIP) {
    ends->low = post_op->alpha;
    ends->high = post_op->beta;
  } else if (post_op->kind == LK_POST_RELU && post_op->alpha == 0.0F) {
    ends->low = 0;
  } else {
    return false;
  }
  return true;
}

/* ---- in the cache ---- */

typedef struct chain_builder {
  const lk_planner *planner;
  const lk_product_output *output;
  lk_element_program program;
  lk_element_value value;
} chain_builder;

static bool add_binary(chain_builder *self, const lk_post_op *post_op, lk_product_ends *ends) {
  lk_product_chain *chain = &ends->chain;
  const uint32_t n = chain->n_operands, input = (uint32_t)post_op->input;
  int64_t row = 0, column = 0;
  if (n == LK_PRODUCT_CHAIN_OPERANDS ||
      !find_steps(self->planner, self->output, input, &row, &column) || row > INT32_MAX) {
    return false;
  }
  chain->row_step[n] = (int32_t)row;
  chain->column_step[n] = (uint8_t)column;
  ends->chain_inputs[n] = input;
  chain->n_operands++;
  const lk_element_value operand = lk_element_input(&self->program, LK_F32);
  self->value = lk_post_op_append(&self->program, post_op, self->value, operand);
  return true;
}

static lk_status build_chain(const lk_planner *planner, const lk_product_output *output,
                             lk_product_ends *ends, lk_error *error) {
  const lk_op_node *node = planner->node;
  const uint32_t first = ends->count;
  if (first == node->n_post_ops) return LK_OK;
  chain_builder self = {planner, output, lk_element_begin(), 0};
  self.value = lk_element_input(&self.program, LK_F32);
  for (; ends->count < node->n_post_ops && ends->count - first < LK_ELEMENT_STEPS; ends->count++) {
    const lk_post_op *post_op = &node->post_ops[ends->count];
    if (post_op->input < 0) {
      self.value = lk_post_op_append(&self.program, post_op, self.value, 0);
    } else if (!add_binary(&self, post_op, ends)) {
      break;
    }
  }
  if (ends->count == first) return LK_OK;
  ends->has_chain = true;
  lk_element_output(&self.program, self.value, LK_F32);
  return lk_product_chain_plan(&self.program, &ends->chain, error);
}

lk_status lk_product_ends_find(const lk_planner *planner, const lk_product_output *output,
                               lk_product_ends *out_ends, lk_error *error) {
  const lk_op_node *node = planner->node;
  lk_product_ends *ends = out_ends;
  ends->bias = ends->residual = -1;
  ends->low = -INFINITY;
  ends->high = INFINITY;
  ends->has_chain = false;
  ends->chain.n_operands = 0; /* the rest of the chain is large, and most have none */
  ends->count = 0;
  while (ends->count < node->n_post_ops &&
         adds(planner, output, &node->post_ops[ends->count], ends)) {
    ends->count++;
  }
  if (ends->count < node->n_post_ops && clips(&node->post_ops[ends->count], ends)) ends->count++;
  return build_chain(planner, output, ends, error);
}
