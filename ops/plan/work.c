/* From tasks to steps, by the engine of the context. */
#include "ops/plan/work.h"

#include "base/status.h"

lk_status lk_plan_task(lk_planner *planner, const lk_task *task, lk_error *error) {
  return planner->env->planning->plan(planner, task, error);
}

bool lk_resize_task(const lk_resizing *self, const lk_task *task) {
  return self->env->planning->resize(self, task);
}

lk_status lk_plan_function(lk_planner *planner, uint32_t function, float alpha, float beta,
                           lk_error *error) {
  lk_task task;
  lk_task_elements(&task, planner, 0);
  (void)lk_task_apply(&task, function, alpha, beta);
  return lk_plan_task(planner, &task, error);
}

lk_status lk_plan_binary(lk_planner *planner, uint32_t function, uint32_t a, uint32_t b,
                         lk_error *error) {
  lk_task task;
  lk_task_elements(&task, planner, a);
  lk_task_apply_input(&task, planner, function, b);
  return lk_plan_task(planner, &task, error);
}

lk_status lk_plan_reorder(lk_planner *planner, const uint8_t order[LK_MAX_RANK],
                          const lk_operand *from, const lk_operand *to, lk_error *error) {
  lk_task task;
  lk_task_reorder(&task, order, from, to);
  return lk_plan_task(planner, &task, error);
}

lk_status lk_plan_concat(lk_planner *planner, const lk_operand *operands, uint32_t count,
                         uint32_t axis, const lk_operand *to, lk_error *error) {
  lk_task task;
  lk_task_begin(&task, LK_WORK_CONCAT);
  lk_task_place(&task, LK_ROLE_SRC, &operands[0]);
  for (uint32_t i = 1; i < count; i++) {
    lk_task_place(&task, (lk_role)(LK_ROLE_OPERAND + i - 1), &operands[i]);
  }
  lk_task_place(&task, LK_ROLE_DST, to);
  task.work.axes = 1U << axis;
  return lk_plan_task(planner, &task, error);
}

bool lk_resize_elements(const lk_resizing *self) {
  static const lk_task task = {.work = {.kind = LK_WORK_ELEMENT}};
  return lk_resize_task(self, &task);
}

lk_status lk_task_take(lk_planner *planner, const lk_task *task, lk_role role, lk_layout layout,
                       lk_operand *out_operand, lk_error *error) {
  const lk_step_arg from = task->from[role];
  const bool is_view = lk_task_is_view(task, role);
  const lk_layout asked = is_view ? LK_LAYOUT_PLAIN : layout;
  if (lk_task_lies(task, role)) {
    *out_operand = (lk_operand){from.place, from.index, task->work.tensors[role]};
  } else if (from.place == LK_PLACE_INPUT) {
    LK_RETURN_NOT_OK(lk_planner_input(planner, from.index, asked, out_operand, error));
  } else {
    LK_RETURN_NOT_OK(lk_planner_output(planner, from.index, asked, out_operand, error));
  }
  if (is_view) out_operand->desc = task->work.tensors[role];
  return LK_OK;
}
