/* The command line of `latchkey load`. */
#pragma once

#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/compare.h"

/* [NAME=]FILE.onnx, and its share of the requests. */
typedef struct load_model_args {
  char *name;
  const char *path; /* borrowed from argv */
  uint64_t weight;
} load_model_args;

typedef struct load_args {
  cli_args common; /* `inputs` are of all models; `requests` of them are prepared for each */
  load_model_args *models;
  size_t n_models, models_capacity;
  const char *mix;               /* --mix, until all models are known */
  uint64_t threads;              /* that send requests */
  uint64_t seconds_ns, requests; /* when to end; the other one is 0 */
  uint64_t warmup_ns;
  double rate; /* requests per second, or 0: as fast as they are answered */
  bool clones, check;
  tolerance within; /* for `check` */
} load_args;

extern const struct argp load_argp; /* fills in a load_args */
