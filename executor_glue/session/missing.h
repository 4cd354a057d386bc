/* What keeps a model from running wholly in the executor of this library. */
#pragma once

#include <latchkey/session.h>

#include "executor_glue/flow/missing.h"

typedef struct lk_missing_told {
  lk_missing_fn *node; /* each node that cannot run, and each attribute that a node
                          should not have; for the others, passes have rewritten the graph before */
  /* A sentence about each other thing that is not supported: opsets, types, inputs. */
  lk_status (*other)(void *arg, const char *sentence, lk_error *error);
  void *arg;
} lk_missing_told;

/* Reads the file, runs the passes that `options` do not disable, and tells all that keeps it from
 * running. What either function returns ends it. The errors of session_open but those that are
 * told: LK_UNSUPPORTED never comes from the file itself. `error` must not be NULL. */
lk_status lk_model_find_missing(lk_context *context, const char *path,
                                const lk_session_options *options, const lk_missing_told *told,
                                lk_error *error);
