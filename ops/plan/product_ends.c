/* Post-ops of a product: bias, residual and bounds in registers, the others as an element
 * program. */
#include "ops/plan/product_ends.h"

#include <math.h>

#include "base/tensor.h"
#include "ops/plan/post_op_steps.h"

/* ---- how an operand lies beside the output ---- */

/* Steps along rows and columns of C: the operand has a number for each element, for each row, for
 * each column, or one. False: it repeats along some of the dimensions that are rows. */
static bool find_steps(const lk_product_ends_of *of, uint32_t input, int64_t *out_row,
                       int64_t *out_column) {
  const lk_tensor_desc *to = of->to;
  const lk_tensor_desc *desc = &of->inputs[input].desc;
  if (desc->rank > to->rank) return false;
  const lk_tensor_desc operand = lk_shape_pad_rank(desc, to->rank);
  bool along_all_rows = true, along_no_rows = true, along_columns = false;
  for (uint32_t i = 0; i < to->rank; i++) {
    if ((int32_t)i == of->output.column_dim) {
      along_columns = operand.dims[i] == to->dims[i] && to->dims[i] > 1;
    } else {
      along_all_rows = along_all_rows && operand.dims[i] == to->dims[i];
      along_no_rows = along_no_rows && operand.dims[i] == 1;
    }
  }
  *out_column = along_columns ? 1 : 0;
  *out_row = along_columns ? of->output.row_step : 1;
  if (along_no_rows) *out_row = 0;
  return along_no_rows || along_all_rows;
}

static bool is_row(const lk_product_ends_of *of, uint32_t input) {
  int64_t row = 0, column = 0;
  return find_steps(of, input, &row, &column) && row == 0 && column == 1;
}

/* ---- in registers ---- */

static bool adds(const lk_product_ends_of *of, const lk_post_op *post_op, lk_product_ends *ends) {
  if (post_op->kind != LK_POST_ADD) return false;
  const uint32_t input = (uint32_t)post_op->input;
  if (of->output.bias_is_post_op && ends->bias < 0 && is_row(of, input)) {
    ends->bias = post_op->input;
  } else if (ends->residual < 0 && !of->output.chains_residual &&
             lk_shape_equal(&of->inputs[input].desc, of->to)) {
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

static bool add_operand(const lk_product_ends_of *of, uint32_t input, lk_product_ends *ends) {
  lk_product_chain *chain = &ends->chain;
  const uint32_t n = chain->n_operands;
  int64_t row = 0, column = 0;
  if (n == LK_PRODUCT_CHAIN_OPERANDS || !find_steps(of, input, &row, &column) || row > INT32_MAX) {
    return false;
  }
  chain->row_step[n] = (int32_t)row;
  chain->column_step[n] = (uint8_t)column;
  ends->chain_inputs[n] = input;
  chain->n_operands++;
  return true;
}

static void find_chain(const lk_product_ends_of *of, lk_product_ends *ends) {
  const lk_op_node *node = of->node;
  uint32_t n_steps = 0;
  ends->chain_first = ends->count;
  ends->chain.n_operands = 0; /* the rest of the chain is large, and most have none */
  while (ends->count < node->n_post_ops && n_steps + LK_POST_OP_STEPS <= LK_ELEMENT_STEPS) {
    const lk_post_op *post_op = &node->post_ops[ends->count];
    if (post_op->input >= 0 && !add_operand(of, (uint32_t)post_op->input, ends)) break;
    n_steps += lk_post_op_steps(post_op);
    ends->count++;
  }
  ends->has_chain = ends->count > ends->chain_first;
}

void lk_product_ends_find(const lk_product_ends_of *of, lk_product_ends *out_ends) {
  const lk_op_node *node = of->node;
  lk_product_ends *ends = out_ends;
  ends->bias = ends->residual = -1;
  ends->low = -INFINITY;
  ends->high = INFINITY;
  ends->count = 0;
  while (ends->count < node->n_post_ops && adds(of, &node->post_ops[ends->count], ends)) {
    ends->count++;
  }
  if (ends->count < node->n_post_ops && clips(&node->post_ops[ends->count], ends)) ends->count++;
  find_chain(of, ends);
}

lk_status lk_product_ends_plan(const lk_product_ends_of *of, lk_product_ends *ends,
                               lk_error *error) {
  if (!ends->has_chain) return LK_OK;
  lk_element_program program = lk_element_begin();
  lk_element_value value = lk_element_input(&program, LK_F32);
  for (uint32_t i = ends->chain_first; i < ends->count; i++) {
    const lk_post_op *post_op = &of->node->post_ops[i];
    const lk_element_value operand =
        post_op->input >= 0 ? lk_element_input(&program, LK_F32) : (lk_element_value)0;
    value = lk_post_op_append(&program, post_op, value, operand);
  }
  lk_element_output(&program, value, LK_F32);
  return lk_product_chain_plan(&program, &ends->chain, error);
}

/* ---- other sizes ---- */

bool lk_product_ends_resize(const lk_product_ends_of *of, lk_product_chain *chain) {
  lk_product_ends ends;
  lk_product_ends_find(of, &ends);
  if (ends.count != of->node->n_post_ops || ends.has_chain != (chain != NULL)) return false;
  if (chain == NULL) return true;
  const lk_product_chain *found = &ends.chain;
  if (found->n_operands != chain->n_operands) return false;
  for (uint32_t i = 0; i < chain->n_operands; i++) {
    if (found->column_step[i] != chain->column_step[i] ||
        (found->row_step[i] == 0) != (chain->row_step[i] == 0)) {
      return false; /* the program is one of other levels */
    }
    chain->row_step[i] = found->row_step[i];
  }
  return true;
}
