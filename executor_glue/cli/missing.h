/* What is missing: the operators of ai.onnx that do not exist here, and what models lack. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "executor_glue/cli/common/options.h"
#include "executor_glue/report/json.h"

typedef struct missing_op {
  const char *name, *reason;
} missing_op;

extern const missing_op missing_ops[];
extern const size_t n_missing_ops;

/* {"model", "runs", "nodes": [{"operator", ...}], "other": [sentence], "error"}: `error` is a
 * sentence where the file could not be read, else null. `*out` is the caller's; NULL after a
 * failure. */
lk_status missing_of_model(const model_args *args, const char *path, json_t **out, lk_error *error);
/* Prints that of each model as tables or as JSON. `*out_found`: one of them does not run wholly. */
lk_status missing_report(const model_args *args, char *const *paths, size_t n_paths,
                         bool *out_found, lk_error *error);
/* Prints what missing_of_model has found, as tables. */
lk_status missing_print(json_t *model, lk_error *error);
