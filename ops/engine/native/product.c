/* Products of matrices. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/plan/product_steps.h"

/* ---- of the node: inputs 0 and 1, and its post-ops behind them ---- */

static bool is_at(const lk_task *task, lk_role role, lk_place place, uint32_t index) {
  const lk_step_arg from = task->from[role];
  return from.place == place && from.index == index;
}

static bool is_of_node(const lk_task *task) {
  return (task->views | task->placed) == 0 && task->work.n_post_ops == 0 &&
         is_at(task, LK_ROLE_SRC, LK_PLACE_INPUT, 0) &&
         is_at(task, LK_ROLE_WEIGHTS, LK_PLACE_INPUT, 1) &&
         is_at(task, LK_ROLE_DST, LK_PLACE_OUTPUT, 0);
}

static lk_status plan_of_node(lk_planner *planner, const lk_work *work, lk_error *error) {
  lk_tensor_desc a = work->tensors[LK_ROLE_SRC], b = work->tensors[LK_ROLE_WEIGHTS];
  a.layout = lk_matmul_layout(planner, 0);
  b.layout = lk_matmul_layout(planner, 1);
  lk_matmul matmul = lk_matmul_of_ordered(&a, &b, work->orders, &work->tensors[LK_ROLE_DST]);
  return lk_plan_matmul(planner, &matmul, b.rank > 1, error);
}

/* ---- of any operands, as a part of what the node computes ---- */

/* As the work has it, where it lies so already; else plain. */
static lk_tensor_desc taken(const lk_task *task, lk_role role) {
  lk_tensor_desc desc = task->work.tensors[role];
  if (!lk_task_is_placed(task, role)) desc.layout = LK_LAYOUT_PLAIN;
  return desc;
}

static lk_status take(lk_planner *planner, const lk_task *task, lk_role role, lk_operand *out,
                      lk_error *error) {
  return lk_task_take(planner, task, role, LK_LAYOUT_PLAIN, out, error);
}

/* Whether the weights are an input of the node, and one matrix for all of src. */
static bool is_projection(const lk_task *task, const lk_matmul *matmul) {
  return task->from[LK_ROLE_WEIGHTS].place == LK_PLACE_INPUT &&
         !lk_task_lies(task, LK_ROLE_WEIGHTS) &&
         lk_elements(&task->work.tensors[LK_ROLE_WEIGHTS]) == matmul->k * matmul->columns;
}

static lk_status plan_of_operands(lk_planner *planner, const lk_task *task, lk_error *error) {
  const lk_tensor_desc a = taken(task, LK_ROLE_SRC), b = taken(task, LK_ROLE_WEIGHTS);
  const bool has_bias = task->work.n_post_ops > 0;
  lk_operand from, right, to, bias;
  lk_matmul matmul =
      lk_matmul_of_ordered(&a, &b, task->work.orders, &task->work.tensors[LK_ROLE_DST]);
  LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_DST, &to, error));
  from = to; /* sums of nothing read neither operand */
  if (matmul.k > 0) LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_SRC, &from, error));
  if (to.desc.dtype == LK_F32 && is_projection(task, &matmul)) {
    if (has_bias) LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_OPERAND, &bias, error));
    return lk_plan_projection(planner, &matmul, &from, task->from[LK_ROLE_WEIGHTS].index,
                              has_bias ? &bias : NULL, &to, error);
  }
  LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_WEIGHTS, &right, error));
  LK_RETURN_NOT_OK(lk_plan_product(planner, &matmul, &from, &right, &to, error));
  return lk_native_add_bias(planner, task, &to, error);
}

static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const uint32_t dtype = task->work.tensors[LK_ROLE_SRC].dtype;
  if (dtype == LK_U8 || dtype == LK_I8) return lk_native_product_bytes(planner, task, error);
  return is_of_node(task) ? plan_of_node(planner, &task->work, error)
                          : plan_of_operands(planner, task, error);
}

const lk_planning lk_native_product = {.plan = plan};
