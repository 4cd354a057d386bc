/* Norms by means and variances that are given: a scale and a shift are made of them, for each
 * channel, and what follows is one pass over memory, with the node's post-ops. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/plan/eltwise_steps.h"

/* scale / sqrt(variance + epsilon) and shift - mean times that, for each channel. */
static lk_status plan_factors(lk_planner *planner, const lk_task *task, lk_operand *out_scale,
                              lk_operand *out_shift, lk_error *error) {
  static const lk_role roles[] = {LK_ROLE_SCALE, LK_ROLE_SHIFT, LK_ROLE_MEAN, LK_ROLE_VARIANCE};
  const lk_work *work = &task->work;
  const int64_t channels = work->tensors[LK_ROLE_SCALE].dims[0];
  /* f16 and bf16 come as f32 */
  const uint32_t dtype = work->tensors[LK_ROLE_SRC].dtype == LK_F64 ? LK_F64 : LK_F32;
  const lk_tensor_desc desc = lk_tensor_desc_make(dtype, 1, &channels);
  const lk_element_strides dense[6] = {{{1}}, {{1}}, {{1}}, {{1}}, {{1}}, {{1}}};
  lk_element_program program = lk_element_begin();
  lk_element_value inputs[4];
  lk_operand operands[6];
  for (uint32_t i = 0; i < 4; i++) {
    inputs[i] = lk_element_input(&program, dtype);
    LK_RETURN_NOT_OK(lk_task_take(planner, task, roles[i], LK_LAYOUT_PLAIN, &operands[i], error));
  }
  const lk_element_value sum =
      lk_element_unary(&program, LK_ELEMENT_LINEAR, inputs[3], 1, work->epsilon);
  const lk_element_value deviation = lk_element_unary(&program, LK_ELEMENT_SQRT, sum, 0, 0);
  const lk_element_value scale = lk_element_binary(&program, LK_ELEMENT_DIV, inputs[0], deviation);
  const lk_element_value mean = lk_element_binary(&program, LK_ELEMENT_MUL, inputs[2], scale);
  lk_element_output(&program, scale, dtype);
  lk_element_output(&program, lk_element_binary(&program, LK_ELEMENT_SUB, inputs[1], mean), dtype);
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out_scale, error));
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out_shift, error));
  operands[4] = *out_scale;
  operands[5] = *out_shift;
  lk_element step;
  LK_RETURN_NOT_OK(lk_element_plan(&program, 1, &channels, dense, &step, error));
  return lk_planner_kernel(planner, lk_element_kernel, "element", &step, step.size, operands, 6,
                           error);
}

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const uint32_t rank = task->work.tensors[LK_ROLE_SRC].rank;
  lk_chain chain;
  lk_operand scale, shift;
  lk_element_value x;
  LK_RETURN_NOT_OK(plan_factors(planner, task, &scale, &shift, error));
  LK_RETURN_NOT_OK(lk_chain_begin(planner, &chain, error));
  LK_RETURN_NOT_OK(lk_chain_input(&chain, task->from[LK_ROLE_SRC].index, &x, error));
  lk_put_beside(&scale, rank);
  lk_put_beside(&shift, rank);
  const lk_element_value a = lk_chain_operand(&chain, &scale);
  const lk_element_value b = lk_chain_operand(&chain, &shift);
  chain.value = lk_element_ternary(&chain.program, LK_ELEMENT_FMA, x, a, b);
  return lk_chain_end(&chain, error);
}

const lk_planning lk_native_batch_norm = {.plan = plan};
