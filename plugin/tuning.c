/* Measured times, by which `auto` chooses: noted by hosts, and saved. */
#include "base/require.h"
#include "base/status.h"
#include "plugin/internal.h"
#include "plugin/table.h"
#include "plugin/tuning_file.h"

lk_status lk_plan_note_times(const lk_plan *plan, double native_ns, double engine_ns,
                             lk_error *error) {
  LK_REQUIRE("plan_note_times", error, plan);
  const lk_plan_body *body = lk_plan_get_body(plan);
  lk_ref *const *values = lk_plan_values(body);
  for (uint32_t i = 1; i < body->n_values; i++) {
    /* nobody knows what each of them has taken */
    if (!lk_key_equal(lk_ref_key(values[0]), lk_ref_key(values[i]))) {
      return lk_tuning_check(&(lk_tuned){native_ns, engine_ns, 1}, error);
    }
  }
  const lk_tuned times = {native_ns, engine_ns, body->n_values > 0 ? body->n_values : 1};
  if (body->n_values == 0) return lk_tuning_check(&times, error);
  return lk_tuning_note(lk_engines_tuning(body->env->engines), lk_ref_key(values[0]), &times,
                        error);
}

lk_status lk_tuning_save(lk_context *context, const char *path, uint64_t *out_works,
                         lk_error *error) {
  LK_REQUIRE("tuning_save", error, context, path);
  return lk_tuning_file_append(lk_engines_tuning(context->env.engines), path, out_works, error);
}
