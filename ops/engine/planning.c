/* Who makes the steps of a task: the engine that is chosen, and native for what that leaves. */
#include "ops/engine/planning.h"

#include <stdio.h>

#include "base/status.h"
#include "ops/engine/native/native.h"
#include "ops/engine/value_key.h"
#include "ops/engine/value_steps.h"

/* What the node takes is known where it is of all of its works. */
static void expect(lk_planner *planner, const lk_engine_answer *answer) {
  const lk_choice *choice = &answer->choice;
  const double ns = answer->is_planned ? choice->engine_ns : choice->native_ns;
  lk_planner_expect(planner, answer->is_offered ? ns : 0, choice->is_measured);
}

/* The steps by the engine that is asked, if any: none where it leaves the task. */
static lk_status ask(lk_planner *planner, const lk_engine_entry *asked, const lk_task *task,
                     lk_engine_answer *out_answer, lk_error *error) {
  *out_answer = (lk_engine_answer){0};
  return asked != NULL ? lk_plan_value(planner, asked, task, out_answer, error) : LK_OK;
}

static lk_status plan_native(lk_planner *planner, const lk_task *task, lk_error *error) {
  return lk_native_planning[task->work.kind]->plan(planner, task, error);
}

/* ---- changes of layout, which belong to the work that wants them ---- */

/* `auto` weighs and measures the work as a whole. Nobody is told of its parts. */
static lk_status change_layout(lk_planner *planner, const lk_operand *from, const lk_operand *to,
                               lk_error *error) {
  static const uint8_t order[LK_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  _Static_assert(LK_MAX_RANK == 8, "one for each dimension");
  const lk_engines *engines = planner->env->engines;
  const lk_plan_asks asks = (lk_plan_asks)planner->body->asks;
  const lk_engine_entry *asked =
      lk_engines_is_auto(engines) ? NULL : lk_engines_asked(engines, asks);
  lk_engine_answer answer;
  lk_task task;
  lk_task_reorder(&task, order, from, to);
  LK_RETURN_NOT_OK(ask(planner, asked, &task, &answer, error));
  return answer.is_planned ? LK_OK : plan_native(planner, &task, error);
}

/* ---- works of the node ---- */

/* Who has chosen the engine may have expected that it computes what it takes. */
static void warn_of_reference(const lk_planner *planner, const lk_engine_entry *asked,
                              const lk_task *task) {
  const lk_ops_env *env = planner->env;
  char line[LK_ERROR_CAPACITY];
  if (env->warn == NULL) return;
  (void)snprintf(line, sizeof line,
                 "node '%.200s': engine '%s' has only a slow reference implementation of its work "
                 "'%s', so 'native' computes that; engine 'auto' asks only for what may be faster",
                 planner->node->output_name, asked->engine.name,
                 lk_work_kind_name(task->work.kind));
  env->warn(env->context, line);
}

static lk_status plan_work(lk_planner *planner, const lk_task *task, uint32_t index,
                           lk_error *error) {
  lk_engines *engines = planner->env->engines;
  const lk_plan_asks asks = (lk_plan_asks)planner->body->asks;
  const lk_engine_entry *asked = lk_engines_asked(engines, asks);
  lk_engine_answer answer;
  LK_RETURN_NOT_OK(ask(planner, asked, task, &answer, error));
  if (asked != NULL) {
    lk_engines_count(engines, task->work.kind, &answer, planner->node->output_name);
  }
  if (lk_engines_notes(engines, asks)) {
    const bool is_new =
        lk_engines_note(engines, task->work.kind, index, asks, &answer, planner->node->output_name);
    if (is_new) warn_of_reference(planner, asked, task);
    expect(planner, &answer);
  }
  return answer.is_planned ? LK_OK : plan_native(planner, task, error);
}

/* Works have their numbers in the order in which the operator has them, whoever computes them, so
 * that what they take can be compared. */
static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  const uint32_t index = planner->n_works;
  planner->n_works += index < LK_STEP_MOST_WORK ? 1 : 0;
  planner->work = planner->n_works;
  const lk_status status = plan_work(planner, task, index, error);
  planner->work = 0;
  return status;
}

/* Plans with values have no pattern, so what is to be resized is native's. */
static bool resize(const lk_resizing *self, const lk_task *task) {
  return lk_native_planning[task->work.kind]->resize(self, task);
}

const lk_planning lk_engines_planning = {plan, resize, change_layout};
