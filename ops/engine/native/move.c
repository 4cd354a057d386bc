/* Works that only move elements: in another order or layout, or one tensor behind the other. Their
 * tensors lie already. */
#include "base/status.h"
#include "ops/engine/native/native.h"
#include "ops/plan/moves.h"

static lk_status take(lk_planner *planner, const lk_task *task, uint32_t role,
                      lk_operand *out_operand, lk_error *error) {
  const lk_layout layout = task->work.tensors[role].layout;
  return lk_task_take(planner, task, (lk_role)role, layout, out_operand, error);
}

static lk_status plan_reorder(lk_planner *planner, const lk_task *task, lk_error *error) {
  lk_operand from, to;
  LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_SRC, &from, error));
  LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_DST, &to, error));
  const lk_copy copy = lk_copy_ordered(&from.desc, &to.desc, task->work.order);
  return lk_planner_reorder(planner, &copy, &from, &to, error);
}

static lk_status plan_concat(lk_planner *planner, const lk_task *task, lk_error *error) {
  lk_operand from[1 + LK_WORK_OPERANDS], to;
  uint32_t count = 0;
  LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_SRC, &from[count++], error));
  for (uint32_t role = LK_ROLE_OPERAND; role < LK_ROLES; role++) {
    if (!lk_work_has(&task->work, (lk_role)role)) continue;
    LK_RETURN_NOT_OK(take(planner, task, role, &from[count++], error));
  }
  LK_RETURN_NOT_OK(take(planner, task, LK_ROLE_DST, &to, error));
  const uint32_t axis = (uint32_t)__builtin_ctz(task->work.axes);
  return lk_plan_concat_blocks(planner, from, count, axis, &to, error);
}

const lk_planning lk_native_reorder = {.plan = plan_reorder},
                  lk_native_concat = {.plan = plan_concat};
