/* Measured times, by which `auto` chooses: noted by hosts, and saved. */
#include <math.h>

#include "base/require.h"
#include "base/status.h"
#include "ops/engine/weigh.h"
#include "plugin/internal.h"
#include "plugin/table.h"
#include "plugin/tuning_file.h"

/* The key of the value that computes a work of a plan. NULL: native does, or there are several. */
static const lk_key *key_of(const lk_plan_body *body, uint32_t work) {
  const lk_step_arg *args = lk_plan_args(body);
  const lk_key *key = NULL;
  for (uint32_t i = 0; i < body->n_steps; i++) {
    const lk_step *step = &lk_plan_steps(body)[i];
    for (uint32_t k = 0; k < (step->work == work ? step->n_args : 0U); k++) {
      const lk_step_arg arg = args[step->first_arg + k];
      if (arg.place != LK_PLACE_SLOT) continue;
      if (key != NULL) return NULL;
      key = lk_ref_key(lk_plan_values(body)[arg.index]);
    }
  }
  return key;
}

/* Of the work alone: whoever weighs it at a place adds what reorders are estimated to take there,
 * so that at this one it is what was measured. An estimate is not to be more than half of it. */
static double without_reorders(const lk_plan_body *body, uint32_t work, double engine_ns) {
  return fmax(engine_ns - lk_weigh_reorders(body, work), engine_ns / 2);
}

/* `key` NULL: there is nothing to note. */
static lk_status note(const lk_plan_body *body, const lk_key *key, uint32_t work, double native_ns,
                      double engine_ns, lk_error *error) {
  lk_tuned times = {native_ns, engine_ns, 1};
  LK_RETURN_NOT_OK(lk_tuning_check(&times, error));
  if (key == NULL) return LK_OK;
  times.engine_ns = without_reorders(body, work, engine_ns);
  return lk_tuning_note(lk_engines_tuning(body->env->engines), key, &times, error);
}

static bool has_other_steps(const lk_plan_body *body, uint32_t work) {
  for (uint32_t i = 0; i < body->n_steps; i++) {
    if (lk_plan_steps(body)[i].work != work) return true;
  }
  return false;
}

lk_status lk_plan_note_times(const lk_plan *plan, double native_ns, double engine_ns,
                             lk_error *error) {
  LK_REQUIRE("plan_note_times", error, plan);
  const lk_plan_body *body = lk_plan_get_body(plan);
  const lk_key *key = has_other_steps(body, 1) ? NULL : key_of(body, 1);
  return note(body, key, 1, native_ns, engine_ns, error);
}

lk_status lk_plan_note_work(const lk_plan *plan, uint32_t work, double native_ns, double engine_ns,
                            lk_error *error) {
  LK_REQUIRE("plan_note_work", error, plan);
  if (work == 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to note the times of work 0: works of a node are numbered from 1");
  }
  const lk_plan_body *body = lk_plan_get_body(plan);
  return note(body, key_of(body, work), work, native_ns, engine_ns, error);
}

lk_status lk_tuning_save(lk_context *context, const char *path, uint64_t *out_works,
                         lk_error *error) {
  LK_REQUIRE("tuning_save", error, context, path);
  return lk_tuning_file_append(lk_engines_tuning(context->env.engines), path, out_works, error);
}
