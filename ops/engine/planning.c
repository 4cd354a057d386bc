/* Who makes the steps of a task: the engine that is chosen, and native for what that leaves. */
#include "ops/engine/planning.h"

#include "base/status.h"
#include "ops/engine/native/native.h"
#include "ops/engine/value_steps.h"

/* What the node takes is known where it is of all of its works. */
static void expect(lk_planner *planner, const lk_engine_answer *answer) {
  const lk_choice *choice = &answer->choice;
  const double ns = answer->is_planned ? choice->engine_ns : choice->native_ns;
  lk_planner_expect(planner, answer->is_offered ? ns : 0, choice->is_measured);
}

/* What the planner puts in between two works. */
static bool is_layout_change(const lk_work *work) {
  if (work->kind != LK_WORK_REORDER) return false;
  for (uint32_t i = 0; i < work->tensors[LK_ROLE_SRC].rank; i++) {
    if (work->order[i] != i) return false;
  }
  return true;
}

/* `auto` weighs and measures the node's own works: a change of layout is a part of what one of
 * these takes, and native's. */
static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  lk_engines *engines = planner->env->engines;
  const lk_plan_asks asks = (lk_plan_asks)planner->body->asks;
  const lk_engine_entry *asked = lk_engines_asked(engines, asks);
  const bool is_part = lk_engines_is_auto(engines) && is_layout_change(&task->work);
  if (asked != NULL && !is_part) {
    lk_engine_answer answer;
    LK_RETURN_NOT_OK(lk_plan_value(planner, asked, task, &answer, error));
    lk_engines_note(engines, task->work.kind, planner->n_works++, asks, &answer,
                    planner->node->output_name);
    if (lk_engines_notes(engines, asks)) expect(planner, &answer);
    if (answer.is_planned) return LK_OK;
  }
  return lk_native_planning[task->work.kind]->plan(planner, task, error);
}

/* Plans with values have no pattern, so what is to be resized is native's. */
static bool resize(const lk_resizing *self, const lk_task *task) {
  return lk_native_planning[task->work.kind]->resize(self, task);
}

const lk_planning lk_engines_planning = {plan, resize};
