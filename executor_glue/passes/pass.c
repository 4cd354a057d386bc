/* The table of passes, and the driver that runs them in its order. */
#include "executor_glue/passes/pass.h"

#include <fenv.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/look.h"
#include "executor_glue/passes/bodies.h"

const lk_pass lk_passes[] = {
#define PASS(name, function, flags, summary, rounding) {name, function, flags, summary, rounding},
#include "executor_glue/passes/pass_list.inc"
#undef PASS
};
const size_t lk_n_passes = sizeof lk_passes / sizeof lk_passes[0];

/* A chain of branches that decide each other takes a round for each. What is left after so many is
 * decided when it runs. */
enum { MAX_ROUNDS = 32 };
/* Bytes: a small file must not grow large by what its bodies read. It is apart from what the loader
 * may copy (LK_ONNX_COPIES): a file that is over that is refused, whatever passes are switched off,
 * while one that is over this runs, with bodies that read some constants as captured values. So it
 * must not depend on passes whether a model opens, nor on the loader how fast its bodies run. */
#define BODY_COPIES ((uint64_t)64 << 20)

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
      return lk_fail(error, LK_NOT_FOUND,
                     "failed to disable pass '%s': there is no pass of that name, 'latchkey "
                     "inspect' lists them",
                     disabled[i]);
    }
  }
  return LK_OK;
}

/* A row that comes a second time sees more: what it left the first time does not count. */
static void listen(lk_refusals *refusals, const lk_pass *pass, const lk_graph *graph) {
  if (refusals == NULL) return;
  refusals->pass = pass->name;
  for (size_t i = 0; i < lk_n_passes; i++) {
    if (lk_passes[i].run == pass->run) lk_refusals_forget(refusals, lk_passes[i].name, graph);
  }
}

static lk_status check_heard(const lk_refusals *refusals, lk_error *error) {
  if (refusals == NULL || !refusals->failed) return LK_OK;
  return lk_fail_memory(error, "notes on passes", sizeof(lk_refusal));
}

lk_status lk_pass_run(const lk_pass *pass, const lk_pass_env *env, lk_graph *graph,
                      uint64_t *out_changes, lk_error *error) {
  lk_status status = LK_OK;
  lk_pass_env own = *env;
  listen(own.refusals, pass, graph);
  if ((pass->flags & LK_PASS_NEEDS_SHAPES) != 0) {
    LK_TRY(lk_symbolic_shapes_create(env->api, graph, &own.shapes, error));
  }
  LK_TRY(pass->run(&own, graph, out_changes, error));
  LK_TRY(check_heard(own.refusals, error));
cleanup:
  lk_symbolic_shapes_destroy(own.shapes);
  return status;
}

/* What lk_passes_run is given. */
typedef struct passes_run {
  const lk_pass_env *env;
  const char *const *disabled;
  size_t n_disabled;
  uint64_t *copies_left; /* of constants into bodies: bytes for all graphs together */
  uint64_t *out_changes; /* of all graphs */
  lk_error *error;
} passes_run;

static lk_status run_on(const passes_run *self, lk_graph *graph);

/* After what is around it: so it knows which captured values are constants. */
static lk_status run_on_bodies(const passes_run *self, lk_graph *graph) {
  uint64_t changes = 0;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    if (graph->nodes[n].n_bodies == 0) continue;
    LK_RETURN_NOT_OK(lk_bodies_narrow(graph, (int32_t)n, self->copies_left, &changes, self->error));
    for (uint32_t i = 0; i < graph->nodes[n].n_bodies; i++) {
      LK_RETURN_NOT_OK(run_on(self, graph->nodes[n].bodies[i].graph));
    }
    LK_RETURN_NOT_OK(lk_bodies_narrow(graph, (int32_t)n, self->copies_left, &changes, self->error));
  }
  return LK_OK;
}

static lk_status check_attributes(const passes_run *self, lk_graph *graph) {
  return lk_attributes_check(self->env->api, self->env->told_attributes, graph, self->error);
}

static lk_status run_on(const passes_run *self, lk_graph *graph) {
  int rounds = 0;
  LK_RETURN_NOT_OK(check_attributes(self, graph));
  for (size_t i = 0; i < lk_n_passes; i++) {
    if (lk_pass_is_disabled(lk_passes[i].name, self->disabled, self->n_disabled)) continue;
    uint64_t changes = 0;
    LK_RETURN_NOT_OK(lk_graph_look(self->env->api, "rewrite the graph", self->error));
    LK_RETURN_NOT_OK(lk_pass_run(&lk_passes[i], self->env, graph, &changes, self->error));
    if (self->out_changes != NULL) self->out_changes[i] += changes;
    /* A pass sees a sorted graph, and may leave one that is not. */
    if (changes == 0) continue;
    LK_RETURN_NOT_OK(lk_graph_resolve(graph, self->error));
    if ((lk_passes[i].flags & LK_PASS_BEGINS_AGAIN) == 0) continue;
    /* nodes of a body have come in */
    LK_RETURN_NOT_OK(check_attributes(self, graph));
    if (++rounds < MAX_ROUNDS) i = SIZE_MAX; /* the next one is the first */
  }
  LK_RETURN_NOT_OK(run_on_bodies(self, graph));
  LK_RETURN_NOT_OK(lk_graph_resolve(graph, self->error));
  if (self->env->refusals != NULL) lk_refusals_settle(self->env->refusals, graph);
  return LK_OK;
}

/* ---- passes that are switched off ---- */

static const char SWITCH_ON[] = "take it out of disabled_passes";

/* Notes the nodes, of `nodes` before the pass, whose output another operator makes after it, or
 * nothing. */
static size_t note_changed(const lk_pass_env *env, const lk_pass *pass, const lk_graph *graph,
                           const lk_node *nodes, size_t n_nodes) {
  size_t noted = 0;
  for (size_t i = 0; i < n_nodes; i++) {
    const int32_t output = nodes[i].n_outputs > 0 ? nodes[i].outputs[0] : LK_NO_VALUE;
    lk_miss room, *miss = lk_refusals_listen(env->refusals, &room);
    if (output == LK_NO_VALUE) continue;
    const lk_value *value = &graph->values[output];
    const bool is_gone = value->producer == LK_NO_NODE && value->n_uses > 0;
    const bool is_other = value->producer != LK_NO_NODE &&
                          strcmp(graph->nodes[value->producer].op_type, nodes[i].op_type) != 0;
    if (!is_gone && !is_other) continue;
    (void)lk_miss_note(miss, SWITCH_ON, "pass '%s', which would rewrite it, is switched off",
                       pass->name);
    lk_refusals_add_node(env->refusals, graph, &nodes[i], miss);
    noted++;
  }
  return noted;
}

static lk_status try_pass(const lk_pass_env *env, const lk_pass *pass, lk_graph *graph,
                          lk_error *error) {
  lk_status status = LK_OK;
  const size_t n_nodes = graph->n_nodes;
  uint64_t changes = 0;
  lk_miss room, *miss = lk_refusals_listen(env->refusals, &room);
  lk_node *nodes = lk_calloc(graph->allocator, n_nodes, sizeof *nodes);
  int32_t *outputs = lk_calloc(graph->allocator, n_nodes, sizeof *outputs);
  if (nodes == NULL || outputs == NULL) {
    LK_TRY(lk_fail_memory(error, "nodes before a pass", n_nodes * sizeof *nodes));
  }
  /* A pass may give a node another output, in the list that the node has. */
  for (size_t i = 0; i < n_nodes; i++) {
    nodes[i] = graph->nodes[i];
    outputs[i] = nodes[i].n_outputs > 0 ? nodes[i].outputs[0] : LK_NO_VALUE;
    nodes[i].outputs = &outputs[i];
  }
  lk_pass_env deaf = *env; /* only what it does counts */
  deaf.refusals = NULL;
  LK_TRY(lk_pass_run(pass, &deaf, graph, &changes, error));
  LK_TRY(lk_graph_resolve(graph, error));
  env->refusals->pass = pass->name;
  if (note_changed(env, pass, graph, nodes, n_nodes) == 0 && changes > 0) {
    (void)lk_miss_note(miss, SWITCH_ON, "it would rewrite %" PRIu64 " nodes and is switched off",
                       changes);
    lk_refusals_add_node(env->refusals, graph, NULL, miss);
  }
  status = check_heard(env->refusals, error);
cleanup:
  lk_free(graph->allocator, outputs);
  lk_free(graph->allocator, nodes);
  return status;
}

lk_status lk_passes_try_disabled(const lk_pass_env *env, lk_graph *graph,
                                 const char *const *disabled, size_t n_disabled, lk_error *error) {
  if (env->refusals == NULL) return LK_OK;
  for (size_t i = 0; i < lk_n_passes; i++) {
    if (!lk_pass_is_disabled(lk_passes[i].name, disabled, n_disabled)) continue;
    LK_RETURN_NOT_OK(try_pass(env, &lk_passes[i], graph, error));
  }
  return LK_OK;
}

/* ---- all of them ---- */

lk_status lk_passes_run(const lk_pass_env *env, lk_graph *graph, const char *const *disabled,
                        size_t n_disabled, uint64_t *out_changes, lk_error *error) {
  if (out_changes != NULL) memset(out_changes, 0, lk_n_passes * sizeof *out_changes);
  lk_status status = LK_OK;
  LK_RETURN_NOT_OK(check_names(disabled, n_disabled, error));
  uint64_t copies_left = BODY_COPIES;
  const passes_run run = {env, disabled, n_disabled, &copies_left, out_changes, error};
  fenv_t host_float; /* constants are computed with: as C starts it, whatever the host has set */
  (void)fegetenv(&host_float);
  (void)fesetenv(FE_DFL_ENV);
  status = run_on(&run, graph);
  (void)fesetenv(&host_float);
  return status;
}
