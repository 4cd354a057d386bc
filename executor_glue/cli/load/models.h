/* The models under load: sessions in one context, prepared requests, and what they should give. */
#pragma once

#include "executor_glue/cli/common/inputs.h"
#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/load/args.h"

typedef struct load_model {
  const load_model_args *args;
  cli_model first;           /* the session that all threads share, or the first thread's */
  input_series *series;      /* owns what `requests` points to; NULL when the weight is 0 */
  lk_named_tensor *requests; /* [pool][n_inputs], read by all threads */
  uint32_t n_inputs;
  lk_tensor *expected; /* [pool][outputs], or NULL: nothing is checked */
} load_model;

typedef struct load_models {
  const load_args *args;
  cli_model root; /* the context */
  load_model *items;
  uint32_t count, n_threads;
  uint64_t pool;
  cli_model *lanes; /* [n_threads][count]: what a thread runs a model with */
} load_models;

/* Opens all sessions, prepares the requests. load_models_destroy is needed after a failure too. */
lk_status load_models_create(const load_args *args, load_models *out, lk_error *error);
void load_models_destroy(load_models *models);
