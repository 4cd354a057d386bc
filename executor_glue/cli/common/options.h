/* Options that several subcommands have: argp children and what they fill in.
 *
 * A parser that finds a bad value fills `error` of its arguments and returns EINVAL, so that argp
 * neither prints nor exits; cli_parse then says the sentence.
 */
#ifndef LK_CLI_COMMON_OPTIONS_H
#define LK_CLI_COMMON_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include <latchkey/session.h>

#include "executor_glue/cli/common/shape_arg.h"

/* --threads, --cache ..., --executor, --inter, --disable-pass ..., --verbose, --json: for whatever opens a model. */
typedef struct model_args {
  lk_context_options context;
  const char **disabled_passes; /* borrowed from argv */
  size_t n_disabled_passes, disabled_passes_capacity;
  int32_t run_plans;         /* as in lk_session_options */
  uint64_t max_folded_bytes; /* likewise */
  uint32_t executor;         /* likewise */
  int32_t inter;             /* likewise */
  bool json;
  lk_error *error;
} model_args;

extern const struct argp model_argp;   /* all of these */
extern const struct argp library_argp; /* all but --threads */

/* A file given for an input: NAME=FILE.npy. */
typedef struct input_file {
  char *name;
  const char *path; /* borrowed from argv */
} input_file;

/* Where the values of a model's inputs come from: --input, --shape, --seed, --requests. */
typedef struct input_args {
  /* NULL, or what the model is called: SCOPE/NAME is then its input NAME too, and goes before NAME; and a
   * name that is no input of this model may be another's. */
  const char *scope;
  bool own_values; /* random values are not the same in all requests */
  input_file *files;
  size_t n_files, files_capacity;
  shape_set *shapes;
  uint64_t seed;
  uint64_t requests;
  lk_error *error;
} input_args;

extern const struct argp input_argp;  /* --shape and --input */
extern const struct argp series_argp; /* those, and --requests and --seed */

void model_args_init(model_args *args, lk_error *error);
void model_args_finish(model_args *args);
/* `requests`: the default of --requests. */
lk_status input_args_init(input_args *args, uint64_t requests, lk_error *error);
void input_args_finish(input_args *args);

/* Adds "NAME=FILE"; NAME ends at the first '='. */
lk_status input_args_add_file(input_args *args, const char *text, lk_error *error);

/* Parses a command line: CLI_OK, or CLI_USAGE after the sentence in `error` was printed. */
int cli_parse(const struct argp *argp, int argc, char **argv, void *args, lk_error *error);

/* For parsers of subcommands: takes the one positional argument, MODEL. */
error_t cli_take_model(int key, char *arg, const struct argp_state *state, const char **out_path,
                       lk_error *error);

/* A decimal number between `min` and `max`; `option` is for the message. */
lk_status parse_u64(const char *text, const char *option, uint64_t min, uint64_t max, uint64_t *out,
                    lk_error *error);
/* The same with k, m or g behind it (1024 each), or "unlimited". */
lk_status parse_size(const char *text, const char *option, uint64_t *out, lk_error *error);
/* --threads of an operator, under the name that it has in this subcommand. */
lk_status parse_op_threads(const char *text, const char *option, model_args *args);
/* A decimal fraction from `min` to `max`. */
lk_status parse_decimal(const char *text, const char *option, double min, double max, double *out,
                        lk_error *error);
/* A finite number, at least 0. */
lk_status parse_tolerance(const char *text, const char *option, double *out, lk_error *error);

#endif
