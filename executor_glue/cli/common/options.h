/* Options that several subcommands have: argp children and what they fill in. */
#pragma once

#include <argp.h>
#include <stdbool.h>

#include <latchkey/session.h>

#include "executor_glue/cli/common/shape_arg.h"

/* What a parser returns for a status: EINVAL when the error of its arguments is filled. */
error_t cli_parsed(lk_status status);

/* The options of whatever opens a model: --threads, --cache, --executor, --json and the like. */
typedef struct model_args {
  lk_context_options context;
  lk_session_options session;
  const char **disabled_passes; /* what `session` points to; the names are borrowed from argv */
  size_t disabled_passes_capacity;
  lk_fixed_dim *fixed_dims; /* what `session` points to, with names of their own */
  size_t fixed_dims_capacity;
  bool json;
  const char *trace;     /* NULL, or the file of --trace, borrowed from argv */
  uint64_t trace_events; /* 0: not given */
  lk_error *error;
} model_args;

extern const struct argp model_argp; /* all of these, but --trace */

/* Each with --trace and --trace-events. */
extern const struct argp traced_model_argp;
extern const struct argp traced_library_argp; /* without --threads and --engine */

/* A file given for an input: NAME=FILE.npy. */
typedef struct input_file {
  char *name;
  const char *path; /* borrowed from argv */
} input_file;

/* Where the values of a model's inputs come from: --input, --shape, --seed, --requests. */
typedef struct input_args {
  /* NULL, or the name of the model among several: SCOPE/NAME is then its input NAME as well, and
   * goes before a plain NAME. A name that this model lacks may belong to another model. */
  const char *scope;
  bool own_values; /* random values are not the same in all requests */
  int64_t batch;   /* the first dimension where batch.h says so; 0: none is given */
  input_file *files;
  size_t n_files, files_capacity;
  shape_set *shapes;
  uint64_t seed;
  uint64_t requests;
  lk_error *error;
} input_args;

/* What --engine does, in --help. */
#define CLI_ENGINE_HELP                                                                            \
  "Who computes: native, kernels that serve every size; onednn, primitives of oneDNN, built for "  \
  "one size and found by key, and native for the rest; auto, native, and oneDNN for sizes that "   \
  "recur where it takes less time (default: auto)"

extern const struct argp input_argp;  /* --shape and --input */
extern const struct argp series_argp; /* those, and --requests and --seed */

/* What subcommands read. The arguments of one that reads more begin with this. */
typedef struct cli_args {
  model_args model;
  input_args inputs;
  const char *path; /* MODEL, borrowed from argv */
  lk_error error;   /* filled by the parsers, and by the work */
} cli_args;

/* `requests`: the default of --requests. cli_args_destroy is needed after a failure too. */
lk_status cli_args_create(cli_args *args, uint64_t requests);
void cli_args_destroy(cli_args *args);

/* Adds "NAME=FILE"; NAME ends at the first '='. */
lk_status input_args_add_file(input_args *args, const char *text);
