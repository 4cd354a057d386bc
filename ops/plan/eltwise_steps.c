/* Element-wise steps that several operators emit: element programs over output 0. */
#include "ops/plan/eltwise_steps.h"

#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/strides.h"
#include "ops/plan/moves.h"
#include "ops/plan/post_op_steps.h"

/* ---- layouts ---- */

bool lk_lies_elsewhere_over(const lk_planner *planner, uint32_t index, lk_layout layout) {
  const lk_tensor_desc *desc = &planner->inputs[index].desc;
  lk_tensor_desc to = planner->outputs[0];
  int64_t of_input[LK_MAX_RANK], of_output[LK_MAX_RANK];
  if ((int32_t)index != planner->body->in_place_input) return false;
  to.layout = layout;
  lk_broadcast_strides(desc, to.rank, 1, of_input);
  lk_broadcast_strides(&to, to.rank, 1, of_output);
  return memcmp(of_input, of_output, to.rank * sizeof *of_input) != 0;
}

void lk_put_beside(lk_operand *inout, uint32_t rank) {
  lk_tensor_desc *desc = &inout->desc;
  desc->dims[0] = lk_elements(desc);
  desc->rank = rank - 1;
  for (uint32_t i = 1; i < desc->rank; i++) desc->dims[i] = 1;
}

/* Without a wish, that of an input which is as large; but no other than that of an input of lower
 * rank that the output lies over, which cannot be reordered to it. */
static lk_layout choose_layout(lk_planner *planner) {
  const lk_op_node *node = planner->node;
  const lk_tensor_desc *to = &planner->outputs[0];
  lk_layout natural = LK_LAYOUT_PLAIN;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    const lk_tensor_desc *desc = &planner->inputs[i].desc;
    if (desc->layout != LK_LAYOUT_PLAIN && lk_shape_equal(desc, to)) natural = desc->layout;
  }
  const lk_layout layout = lk_strided_output_layout(planner, natural);
  const int32_t over = planner->body->in_place_input;
  const bool is_lower = over >= 0 && planner->inputs[over].desc.rank != to->rank;
  return is_lower && lk_lies_elsewhere_over(planner, (uint32_t)over, layout) ? LK_LAYOUT_PLAIN
                                                                             : layout;
}

/* How input `index` is read: as it lies; but in the output's layout where the output is written
 * over it, and constants, which are brought there once. */
static lk_layout layout_of_input(lk_planner *planner, uint32_t index, const lk_tensor_desc *to) {
  const lk_tensor_desc *desc = &planner->inputs[index].desc;
  const bool is_constant = planner->node->constants[index].content != NULL;
  const bool follows = is_constant ? desc->dtype == LK_F32 && desc->rank == to->rank
                                   : lk_lies_elsewhere_over(planner, index, to->layout);
  return follows ? to->layout : desc->layout;
}

/* ---- programs ---- */

/* One whose value is what `to` holds. */
static void begin_on_output(lk_chain *self) {
  self->program = lk_element_begin();
  self->value = lk_chain_operand(self, &self->to);
}

lk_status lk_chain_step(lk_chain *self, lk_error *error) {
  const lk_tensor_desc *to = &self->to.desc;
  const uint32_t n_inputs = self->program.n_inputs;
  lk_operand operands[LK_ELEMENT_INPUTS + 1];
  lk_element_strides strides[LK_ELEMENT_INPUTS + 1];
  lk_element step;
  lk_element_output(&self->program, self->value, to->dtype);
  for (uint32_t i = 0; i < n_inputs; i++) {
    operands[i] = self->inputs[i];
    lk_broadcast_strides(&operands[i].desc, to->rank, 1, strides[i].strides);
  }
  operands[n_inputs] = self->to;
  lk_strides(to, 1, strides[n_inputs].strides);
  LK_RETURN_NOT_OK(lk_element_plan(&self->program, to->rank, to->dims, strides, &step, error));
  return lk_planner_kernel(self->planner, lk_element_kernel, "element", &step, step.size, operands,
                           n_inputs + 1, error);
}

/* Goes on in another program where this one is full. What is computed in f32 stays so until the
 * end, and is rounded once. */
static lk_status make_room(lk_chain *self, lk_error *error) {
  const lk_element_program *program = &self->program;
  if (program->n_inputs < LK_ELEMENT_INPUTS &&
      program->n_steps + LK_POST_OP_STEPS <= LK_ELEMENT_STEPS) {
    return LK_OK;
  }
  const lk_operand to = self->to;
  if (to.desc.dtype == LK_F16 || to.desc.dtype == LK_BF16) {
    lk_tensor_desc wide = to.desc;
    wide.dtype = LK_F32;
    LK_RETURN_NOT_OK(lk_planner_temp(self->planner, &wide, &self->to, error));
  }
  LK_RETURN_NOT_OK(lk_chain_step(self, error));
  begin_on_output(self);
  self->to = to;
  return LK_OK;
}

void lk_chain_begin_at(lk_planner *planner, const lk_operand *to, lk_chain *out_chain) {
  out_chain->planner = planner;
  out_chain->program = lk_element_begin();
  out_chain->value = 0;
  out_chain->to = *to;
}

lk_status lk_chain_begin(lk_planner *planner, lk_chain *out_chain, lk_error *error) {
  lk_operand to;
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, choose_layout(planner), &to, error));
  lk_chain_begin_at(planner, &to, out_chain);
  return LK_OK;
}

lk_element_value lk_chain_operand(lk_chain *self, const lk_operand *operand) {
  const lk_element_value value = lk_element_input(&self->program, operand->desc.dtype);
  lk_tensor_desc *desc = &self->inputs[value].desc;
  self->inputs[value] = *operand;
  if (desc->rank > self->to.desc.rank) desc->rank = self->to.desc.rank; /* one number, of [1] */
  return value;
}

lk_status lk_chain_input(lk_chain *self, uint32_t index, lk_element_value *out_value,
                         lk_error *error) {
  lk_operand operand;
  const lk_layout layout = layout_of_input(self->planner, index, &self->to.desc);
  LK_RETURN_NOT_OK(lk_planner_input(self->planner, index, layout, &operand, error));
  *out_value = lk_chain_operand(self, &operand);
  return LK_OK;
}

void lk_chain_unary(lk_chain *self, lk_element_op op, float p, float q) {
  self->value = lk_element_unary(&self->program, op, self->value, p, q);
}

lk_status lk_chain_next_input(lk_chain *self, uint32_t index, lk_element_value *out_value,
                              lk_error *error) {
  LK_RETURN_NOT_OK(make_room(self, error));
  return lk_chain_input(self, index, out_value, error);
}

lk_status lk_chain_binary(lk_chain *self, lk_element_op op, uint32_t index, lk_error *error) {
  lk_element_value operand;
  LK_RETURN_NOT_OK(lk_chain_next_input(self, index, &operand, error));
  self->value = lk_element_binary(&self->program, op, self->value, operand);
  return LK_OK;
}

static lk_status append_post_ops(lk_chain *self, uint32_t first, lk_error *error) {
  const lk_op_node *node = self->planner->node;
  for (uint32_t i = first; i < node->n_post_ops; i++) {
    const lk_post_op *post_op = &node->post_ops[i];
    lk_element_value operand = 0;
    LK_RETURN_NOT_OK(make_room(self, error));
    if (post_op->input >= 0) {
      LK_RETURN_NOT_OK(lk_chain_input(self, (uint32_t)post_op->input, &operand, error));
    }
    self->value = lk_post_op_append(&self->program, post_op, self->value, operand);
  }
  return LK_OK;
}

lk_status lk_chain_end(lk_chain *self, lk_error *error) {
  LK_RETURN_NOT_OK(append_post_ops(self, 0, error));
  return lk_chain_step(self, error);
}

bool lk_chain_resize(const lk_resizing *self) {
  const lk_tensor_desc *to = self->output;
  lk_element_strides strides[LK_ELEMENT_INPUTS + 1];
  uint8_t sizes[LK_ELEMENT_INPUTS + 1];
  if (self->step->kernel != lk_element_kernel) return false;
  const uint32_t n_inputs = self->step->n_args - 1U; /* the output is the last one */
  for (uint32_t i = 0; i < n_inputs; i++) {
    if (self->args[i].place != LK_PLACE_INPUT) return false;
    const lk_tensor_desc *from = &self->inputs[self->args[i].index].desc;
    lk_broadcast_strides(from, to->rank, 1, strides[i].strides);
    sizes[i] = (uint8_t)lk_dtype_size(from->dtype);
  }
  lk_strides(to, 1, strides[n_inputs].strides);
  sizes[n_inputs] = (uint8_t)lk_dtype_size(to->dtype);
  return lk_element_resize(self->params, to->rank, to->dims, strides, sizes);
}

/* ---- steps ---- */

lk_status lk_plan_fold(lk_planner *planner, uint32_t function, lk_error *error) {
  const uint32_t count = planner->node->n_operands;
  const lk_element_op op = function == LK_FUNCTION_MAX   ? LK_ELEMENT_MAX
                           : function == LK_FUNCTION_MIN ? LK_ELEMENT_MIN
                                                         : LK_ELEMENT_ADD;
  lk_chain chain;
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, 0, &chain.value, error));
  for (uint32_t i = 1; i < count; i++) LK_RETURN_NOT_OK(lk_chain_binary(&chain, op, i, error));
  if (function == LK_POST_DIV) {
    const lk_element_value n = lk_element_integer(&chain.program, chain.to.desc.dtype, count);
    chain.value = lk_element_binary(&chain.program, LK_ELEMENT_DIV, chain.value, n);
  }
  return lk_chain_end(&chain, error);
}

lk_status lk_plan_post_ops(lk_planner *planner, uint32_t first, const lk_operand *to,
                           lk_error *error) {
  if (first >= planner->node->n_post_ops) return LK_OK;
  lk_chain chain;
  chain.planner = planner;
  chain.to = *to;
  begin_on_output(&chain);
  LK_RETURN_NOT_OK(append_post_ops(&chain, first, error));
  return lk_chain_step(&chain, error);
}

/* ---- reductions of nothing ---- */

/* Output 0 of repeated `byte`s, with the node's post-ops. */
static lk_status fill_output(lk_planner *planner, uint8_t byte, lk_error *error) {
  lk_operand to;
  uint8_t value[8];
  memset(value, byte, sizeof value);
  const lk_layout layout = lk_strided_output_layout(planner, LK_LAYOUT_PLAIN);
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  LK_RETURN_NOT_OK(lk_plan_fill(planner, &to, lk_dtype_size(to.desc.dtype), value, error));
  return lk_plan_post_ops(planner, 0, &to, error);
}

/* Output 0 of input `index`, repeated along all dimensions but the channels, with post-ops. */
static lk_status repeat_channels(lk_planner *planner, uint32_t index, lk_error *error) {
  lk_operand from, to;
  const lk_layout layout = lk_strided_output_layout(planner, LK_LAYOUT_PLAIN);
  LK_RETURN_NOT_OK(lk_planner_input(planner, index, LK_LAYOUT_PLAIN, &from, error));
  LK_RETURN_NOT_OK(lk_planner_output(planner, 0, layout, &to, error));
  lk_copy copy = lk_copy_between(&to.desc, &to.desc);
  memset(copy.from, 0, sizeof copy.from);
  copy.from[1] = (int64_t)copy.block;
  LK_RETURN_NOT_OK(lk_planner_copy(planner, &copy, &from, &to, error));
  return lk_plan_post_ops(planner, 0, &to, error);
}

lk_status lk_plan_sum_of_nothing(lk_planner *planner, int32_t bias, lk_error *error) {
  return bias < 0 ? fill_output(planner, 0, error)
                  : repeat_channels(planner, (uint32_t)bias, error);
}

lk_status lk_plan_mean_of_nothing(lk_planner *planner, lk_error *error) {
  /* all bits set are a quiet NaN in every format of IEEE 754, and in bf16 */
  return fill_output(planner, 0xff, error);
}

lk_status lk_plan_pooling_of_nothing(lk_planner *planner, lk_pooling pooling, lk_error *error) {
  char text[LK_TENSOR_TEXT_CAPACITY];
  if (pooling == LK_POOLING_MEAN) return lk_plan_mean_of_nothing(planner, error);
  if (pooling != LK_POOLING_MAX) return lk_plan_sum_of_nothing(planner, -1, error);
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "the input is %s, the largest of no elements is not defined",
                 lk_tensor_text(&planner->inputs[0].desc, text));
}
