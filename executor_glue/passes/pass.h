/* Passes over the graph IR: each one file and one row in pass_list.inc. */
#pragma once

#include "executor_glue/passes/attributes.h"
#include "executor_glue/passes/refusals.h"
#include "executor_glue/passes/symbolic_shapes.h"

/* What a pass may use besides the graph: constant folding runs operators. */
typedef struct lk_pass_env {
  const lk_api *api;
  lk_context *context;
  uint64_t max_folded_bytes;  /* as in lk_session_options */
  lk_symbolic_shapes *shapes; /* of the graph that the pass gets: lk_pass_run makes them */
  lk_refusals *refusals;      /* where to note what passes leave; NULL: nobody listens */
  const lk_told_attributes *told_attributes; /* NULL: passes fail */
} lk_pass_env;

/* Rewrites the graph in place and counts the rewrites. A pass that does not apply changes nothing.
 * */
typedef lk_status (*lk_pass_fn)(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                                lk_error *error);

typedef enum lk_pass_flags {
  LK_PASS_NEEDS_SHAPES = 1, /* env->shapes */
  LK_PASS_BEGINS_AGAIN = 2  /* what it puts into the graph is for the passes before it, too */
} lk_pass_flags;

typedef struct lk_pass {
  const char *name;
  lk_pass_fn run;
  uint32_t flags; /* lk_pass_flags */
  const char *summary;
  const char *rounding; /* see pass_list.inc */
} lk_pass;

#define PASS(name, function, flags, summary, rounding)                                             \
  lk_status function(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,               \
                     lk_error *error);
#include "executor_glue/passes/pass_list.inc"
#undef PASS

/* The table, in the order in which passes run. */
extern const lk_pass lk_passes[];
extern const size_t lk_n_passes;

/* Runs one pass, which notes anew what it leaves of this graph. The graph is sorted before, and
 * maybe not after it. */
lk_status lk_pass_run(const lk_pass *pass, const lk_pass_env *env, lk_graph *graph,
                      uint64_t *out_changes, lk_error *error);
/* Whether `name` is one of `disabled` [n_disabled]. */
bool lk_pass_is_disabled(const char *name, const char *const *disabled, size_t n_disabled);
/* Runs all passes but those in `disabled`, and lk_graph_resolve after each; then the same on the
 * bodies of its nodes. `out_changes`
 * [lk_n_passes] or NULL. LK_NOT_FOUND names a disabled pass that does not exist; otherwise what
 * lk_attributes_check says, which comes before the passes. */
lk_status lk_passes_run(const lk_pass_env *env, lk_graph *graph, const char *const *disabled,
                        size_t n_disabled, uint64_t *out_changes, lk_error *error);
/* Notes in env->refusals what the passes in `disabled` would rewrite of a graph that all others
 * have been run on, but for the bodies of its nodes; rewrites it, too. */
lk_status lk_passes_try_disabled(const lk_pass_env *env, lk_graph *graph,
                                 const char *const *disabled, size_t n_disabled, lk_error *error);
