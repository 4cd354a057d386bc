/* The table of passes, and the driver that runs them in its order. */
#include "executor_glue/passes/pass.h"

#include <fenv.h>
#include <string.h>

#include "base/status.h"

const lk_pass lk_passes[] = {
#define PASS(name, function, needs_shapes, summary) {name, function, needs_shapes, summary},
#include "executor_glue/passes/pass_list.inc"
#undef PASS
};
const size_t lk_n_passes = sizeof lk_passes / sizeof lk_passes[0];

bool lk_pass_is_disabled(const char *name, const char *const *disabled, size_t n_disabled) {
  for (size_t i = 0; i < n_disabled; i++) {
    if (strcmp(disabled[i], name) == 0) return true;
  }
  return false;
}

static lk_status check_names(const char *const *disabled, size_t n_disabled, lk_error *error) {
  for (size_t i = 0; i < n_disabled; i++) {
    size_t row = 0;
    while (row < lk_n_passes && strcmp(lk_passes[row].name, disabled[i]) != 0) row++;
    if (row == lk_n_passes) {
      return lk_fail(error, LK_NOT_FOUND, "failed to disable pass '%s': there is no such pass",
                     disabled[i]);
    }
  }
  return LK_OK;
}

lk_status lk_pass_run(const lk_pass *pass, const lk_pass_env *env, lk_graph *graph,
                      uint64_t *out_changes, lk_error *error) {
  lk_status status = LK_OK;
  lk_pass_env own = *env;
  if (pass->needs_shapes) {
    LK_TRY(lk_symbolic_shapes_create(env->api, graph, &own.shapes, error));
  }
  LK_TRY(pass->run(&own, graph, out_changes, error));
cleanup:
  lk_symbolic_shapes_destroy(own.shapes);
  return status;
}

lk_status lk_passes_run(const lk_pass_env *env, lk_graph *graph, const char *const *disabled,
                        size_t n_disabled, uint64_t *out_changes, lk_error *error) {
  if (out_changes != NULL) memset(out_changes, 0, lk_n_passes * sizeof *out_changes);
  lk_status status = LK_OK;
  LK_RETURN_NOT_OK(check_names(disabled, n_disabled, error));
  fenv_t host_float; /* constants are computed with: as C starts it, whatever the host has set */
  (void)fegetenv(&host_float);
  (void)fesetenv(FE_DFL_ENV);
  for (size_t i = 0; i < lk_n_passes; i++) {
    if (lk_pass_is_disabled(lk_passes[i].name, disabled, n_disabled)) continue;
    uint64_t changes = 0;
    LK_TRY(lk_pass_run(&lk_passes[i], env, graph, &changes, error));
    if (out_changes != NULL) out_changes[i] = changes;
    /* A pass sees a sorted graph, and may leave one that is not. */
    if (changes > 0) LK_TRY(lk_graph_resolve(graph, error));
  }
  status = lk_graph_resolve(graph, error);
cleanup:
  (void)fesetenv(&host_float);
  return status;
}
