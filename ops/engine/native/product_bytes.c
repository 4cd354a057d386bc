/* Products of matrices of bytes. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/plan/integer_steps.h"
#include "ops/plan/quantized_steps.h"

static void begin(const lk_work *work, lk_integer_step *out_step) {
  lk_tensor_desc a = work->tensors[LK_ROLE_SRC], b = work->tensors[LK_ROLE_WEIGHTS];
  a.layout = b.layout = LK_LAYOUT_PLAIN; /* as they are taken */
  const lk_matmul matmul = lk_matmul_of_ordered(&a, &b, work->orders, &work->tensors[LK_ROLE_DST]);
  lk_integer_matmul(&matmul, out_step);
}

static lk_status take(lk_planner *planner, const lk_task *task, lk_integer_step *step,
                      lk_integer_role to, lk_role from, lk_error *error) {
  lk_operand operand;
  if (!lk_work_has(&task->work, from)) return LK_OK;
  LK_RETURN_NOT_OK(lk_task_take(planner, task, from, LK_LAYOUT_PLAIN, &operand, error));
  lk_integer_give(step, to, &operand);
  return LK_OK;
}

static lk_status take_zeros(lk_planner *planner, const lk_task *task, lk_integer_step *step,
                            lk_error *error) {
  LK_RETURN_NOT_OK(take(planner, task, step, LK_INTEGER_A_ZERO, LK_ROLE_SRC_ZERO, error));
  return take(planner, task, step, LK_INTEGER_B_ZERO, LK_ROLE_WEIGHTS_ZERO, error);
}

/* Of two dimensions at most, along which it may repeat. */
static lk_status take_bias(lk_planner *planner, const lk_task *task, lk_integer_step *step,
                           lk_error *error) {
  if (!lk_work_has(&task->work, LK_ROLE_BIAS)) return LK_OK;
  LK_RETURN_NOT_OK(take(planner, task, step, LK_INTEGER_BIAS, LK_ROLE_BIAS, error));
  const lk_tensor_desc *bias = &task->work.tensors[LK_ROLE_BIAS];
  const bool has_columns = bias->rank > 0 && bias->dims[bias->rank - 1] != 1;
  step->product.bias_matrix = 0;
  step->product.bias_column = has_columns ? 1 : 0;
  step->product.bias_row =
      bias->rank == 2 && bias->dims[0] != 1 ? (has_columns ? bias->dims[1] : 1) : 0;
  return LK_OK;
}

/* ---- a scale for each row of A: exact sums, which another step scales ---- */

/* QLinearMatMul alone has such: no bias, no post-ops, a factor of 1, and dst of bytes. */

/* As it broadcasts to the output; `is_rows`: it has a number for each row, which is the output's
 * last dimension where B is a vector. */
static lk_status take_scale(lk_chain *chain, const lk_task *task, lk_role role, bool is_rows,
                            lk_element_value *out, lk_error *error) {
  lk_operand scale;
  LK_RETURN_NOT_OK(lk_task_take(chain->planner, task, role, LK_LAYOUT_PLAIN, &scale, error));
  const bool has_columns = task->work.tensors[LK_ROLE_WEIGHTS].rank > 1;
  if (lk_elements(&scale.desc) == 1) scale.desc.rank = 0;
  if (is_rows && has_columns && scale.desc.rank == 1) scale.desc.dims[scale.desc.rank++] = 1;
  if (is_rows && !has_columns && scale.desc.rank > 1) scale.desc.rank--;
  *out = lk_element_cast(&chain->program, lk_chain_operand(chain, &scale), LK_F32);
  return LK_OK;
}

static lk_status plan_rows(lk_planner *planner, const lk_task *task, lk_integer_step *step,
                           lk_error *error) {
  lk_operand sums, to;
  lk_chain chain;
  lk_element_value a_scale, b_scale;
  lk_tensor_desc desc = task->work.tensors[LK_ROLE_DST];
  desc.dtype = LK_I32;
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_DST, LK_LAYOUT_PLAIN, &to, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, &sums, error));
  LK_RETURN_NOT_OK(take(planner, task, step, LK_INTEGER_A, LK_ROLE_SRC, error));
  LK_RETURN_NOT_OK(take_zeros(planner, task, step, error));
  lk_integer_give(step, LK_INTEGER_C, &sums);
  LK_RETURN_NOT_OK(lk_integer_emit(planner, step, task->from[LK_ROLE_WEIGHTS].index, error));
  lk_chain_begin_at(planner, &to, &chain);
  chain.value = lk_element_cast(&chain.program, lk_chain_operand(&chain, &sums), LK_F32);
  LK_RETURN_NOT_OK(take_scale(&chain, task, LK_ROLE_SRC_SCALE, true, &a_scale, error));
  LK_RETURN_NOT_OK(take_scale(&chain, task, LK_ROLE_WEIGHTS_SCALE, false, &b_scale, error));
  const lk_element_value scale =
      lk_element_binary(&chain.program, LK_ELEMENT_MUL, a_scale, b_scale);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_MUL, chain.value, scale);
  LK_RETURN_NOT_OK(lk_chain_quantize(&chain, task->from[LK_ROLE_DST_SCALE].index,
                                     (uint32_t)lk_task_input_of(task, LK_ROLE_DST_ZERO),
                                     &chain.value, error));
  return lk_chain_step(&chain, error);
}

/* ---- in one step ---- */

lk_status lk_native_product_bytes(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_work *work = &task->work;
  const bool has_scale = lk_work_has(work, LK_ROLE_WEIGHTS_SCALE);
  lk_integer_step step;
  lk_operand a_scale;
  begin(work, &step);
  if (has_scale && lk_elements(&work->tensors[LK_ROLE_SRC_SCALE]) != 1) {
    return plan_rows(planner, task, &step, error);
  }
  LK_RETURN_NOT_OK(take(planner, task, &step, LK_INTEGER_A, LK_ROLE_SRC, error));
  if (has_scale) {
    LK_RETURN_NOT_OK(
        lk_task_take(planner, task, LK_ROLE_SRC_SCALE, LK_LAYOUT_PLAIN, &a_scale, error));
  }
  LK_RETURN_NOT_OK(take_zeros(planner, task, &step, error));
  LK_RETURN_NOT_OK(take(planner, task, &step, LK_INTEGER_C_ZERO, LK_ROLE_DST_ZERO, error));
  LK_RETURN_NOT_OK(take_bias(planner, task, &step, error));
  if (has_scale) {
    LK_RETURN_NOT_OK(lk_integer_scale(planner, &step, work->factor, &a_scale,
                                      task->from[LK_ROLE_WEIGHTS_SCALE].index,
                                      lk_task_input_of(task, LK_ROLE_DST_SCALE), error));
  }
  const lk_operand *to = &step.operands[LK_INTEGER_C];
  const bool is_output = task->from[LK_ROLE_DST].place == LK_PLACE_OUTPUT;
  if (!is_output) LK_RETURN_NOT_OK(take(planner, task, &step, LK_INTEGER_C, LK_ROLE_DST, error));
  LK_RETURN_NOT_OK(lk_integer_emit(planner, &step, task->from[LK_ROLE_WEIGHTS].index, error));
  LK_RETURN_NOT_OK(lk_native_add_bias(planner, task, to, error));
  return is_output ? lk_plan_post_ops(planner, 0, to, error) : LK_OK;
}
