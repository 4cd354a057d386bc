/* From tasks to steps, by the engine of the context. */
#include "ops/plan/work.h"

lk_status lk_plan_task(lk_planner *planner, const lk_task *task, lk_error *error) {
  return planner->env->planning[task->work.kind]->plan(planner, task, error);
}

bool lk_resize_task(const lk_resizing *self, const lk_task *task) {
  return self->env->planning[task->work.kind]->resize(self, task);
}
