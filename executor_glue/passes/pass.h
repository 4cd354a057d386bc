/* Passes over the graph IR: each one file and one row in pass_list.inc. */
#pragma once

#include "executor_glue/graph/graph.h"

/* What a pass may use besides the graph: constant folding runs operators. */
typedef struct lk_pass_env {
  const lk_api *api;
  lk_context *context;
  lk_executor *executor;
  uint64_t max_folded_bytes; /* as in lk_session_options */
} lk_pass_env;

/* Rewrites the graph in place and counts the rewrites. A pass that does not apply changes nothing.
 * */
typedef lk_status (*lk_pass_fn)(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                                lk_error *error);

typedef struct lk_pass {
  const char *name, *summary;
  lk_pass_fn run;
} lk_pass;

#define PASS(name, function, summary)                                                              \
  lk_status function(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,               \
                     lk_error *error);
#include "executor_glue/passes/pass_list.inc"
#undef PASS

/* The table, in the order in which passes run. */
extern const lk_pass lk_passes[];
extern const size_t lk_n_passes;

/* Runs all passes but those in `disabled`, and lk_graph_resolve after each. `out_changes`
 * [lk_n_passes] or NULL. LK_NOT_FOUND names a disabled pass that does not exist. */
lk_status lk_passes_run(const lk_pass_env *env, lk_graph *graph, const char *const *disabled,
                        size_t n_disabled, uint64_t *out_changes, lk_error *error);
