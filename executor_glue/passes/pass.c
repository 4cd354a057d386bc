/* The table of passes, and the driver that runs them in its order. */
#include "executor_glue/passes/pass.h"

#include <fenv.h>
#include <string.h>

#include "base/status.h"
#include "executor_glue/passes/bodies.h"

const lk_pass lk_passes[] = {
#define PASS(name, function, flags, summary) {name, function, flags, summary},
#include "executor_glue/passes/pass_list.inc"
#undef PASS
};
const size_t lk_n_passes = sizeof lk_passes / sizeof lk_passes[0];

/* A chain of branches that decide each other takes a round for each. What is left after so many is
 * decided when it runs. */
enum { MAX_ROUNDS = 32 };

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
  if ((pass->flags & LK_PASS_NEEDS_SHAPES) != 0) {
    LK_TRY(lk_symbolic_shapes_create(env->api, graph, &own.shapes, error));
  }
  LK_TRY(pass->run(&own, graph, out_changes, error));
cleanup:
  lk_symbolic_shapes_destroy(own.shapes);
  return status;
}

/* What lk_passes_run is given. */
typedef struct passes_run {
  const lk_pass_env *env;
  const char *const *disabled;
  size_t n_disabled;
  uint64_t *out_changes; /* of all graphs */
  lk_error *error;
} passes_run;

static lk_status run_on(const passes_run *self, lk_graph *graph);

/* After what is around it: so it knows which captured values are constants. */
static lk_status run_on_bodies(const passes_run *self, lk_graph *graph) {
  uint64_t changes = 0;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    if (graph->nodes[n].n_bodies == 0) continue;
    LK_RETURN_NOT_OK(lk_bodies_narrow(graph, (int32_t)n, &changes, self->error));
    for (uint32_t i = 0; i < graph->nodes[n].n_bodies; i++) {
      LK_RETURN_NOT_OK(run_on(self, graph->nodes[n].bodies[i].graph));
    }
    LK_RETURN_NOT_OK(lk_bodies_narrow(graph, (int32_t)n, &changes, self->error));
  }
  return LK_OK;
}

static lk_status run_on(const passes_run *self, lk_graph *graph) {
  int rounds = 0;
  for (size_t i = 0; i < lk_n_passes; i++) {
    if (lk_pass_is_disabled(lk_passes[i].name, self->disabled, self->n_disabled)) continue;
    uint64_t changes = 0;
    LK_RETURN_NOT_OK(lk_pass_run(&lk_passes[i], self->env, graph, &changes, self->error));
    if (self->out_changes != NULL) self->out_changes[i] += changes;
    /* A pass sees a sorted graph, and may leave one that is not. */
    if (changes == 0) continue;
    LK_RETURN_NOT_OK(lk_graph_resolve(graph, self->error));
    const bool again = (lk_passes[i].flags & LK_PASS_BEGINS_AGAIN) != 0;
    if (again && ++rounds < MAX_ROUNDS) i = SIZE_MAX; /* the next one is the first */
  }
  LK_RETURN_NOT_OK(run_on_bodies(self, graph));
  return lk_graph_resolve(graph, self->error);
}

lk_status lk_passes_run(const lk_pass_env *env, lk_graph *graph, const char *const *disabled,
                        size_t n_disabled, uint64_t *out_changes, lk_error *error) {
  if (out_changes != NULL) memset(out_changes, 0, lk_n_passes * sizeof *out_changes);
  lk_status status = LK_OK;
  LK_RETURN_NOT_OK(check_names(disabled, n_disabled, error));
  const passes_run run = {env, disabled, n_disabled, out_changes, error};
  fenv_t host_float; /* constants are computed with: as C starts it, whatever the host has set */
  (void)fegetenv(&host_float);
  (void)fesetenv(FE_DFL_ENV);
  status = run_on(&run, graph);
  (void)fesetenv(&host_float);
  return status;
}
