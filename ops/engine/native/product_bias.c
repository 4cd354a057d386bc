/* The bias that a product has as a part of an operator. */
#include "base/status.h"
#include "ops/engine/native/native.h"
#include "ops/plan/eltwise_steps.h"

lk_status lk_native_add_bias(lk_planner *planner, const lk_task *task, const lk_operand *to,
                             lk_error *error) {
  lk_operand bias;
  lk_chain chain;
  if (task->work.n_post_ops == 0) return LK_OK;
  LK_RETURN_NOT_OK(lk_task_take(planner, task, LK_ROLE_OPERAND, LK_LAYOUT_PLAIN, &bias, error));
  lk_chain_begin_at(planner, to, &chain);
  const lk_element_value product = lk_chain_operand(&chain, to);
  const lk_element_value added = lk_chain_operand(&chain, &bias);
  chain.value = lk_element_binary(&chain.program, LK_ELEMENT_ADD, product, added);
  return lk_chain_step(&chain, error);
}
