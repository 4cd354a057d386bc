/* How a subcommand reads its command line, does its work, and fails.
 *
 * A parser that finds a bad value fills the error of its arguments and returns EINVAL, so that argp
 * neither prints nor exits; the sentence is then printed here.
 */
#pragma once

#include <argp.h>

#include "executor_glue/cli/common/options.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* What a subcommand does once its arguments are read; `args` begins with a cli_args. */
typedef lk_status cli_work(void *args, lk_error *error);

/* Reads the command line into `args`, does `work`, and prints the sentence of what failed. Returns
 * the exit code. `requests`: the default of --requests. */
int cli_run(const struct argp *argp, int argc, char **argv, cli_args *args, uint64_t requests,
            cli_work *work);

/* Prints "<argv0>: <sentence>" on stderr, and returns CLI_FAILED. */
int cli_complain(const char *argv0, const lk_error *error);

/* Parsers of subcommands end here: takes the one positional argument, MODEL. The input is a
 * cli_args; its `model` and `inputs` go to the first and the second child. */
error_t cli_parse_model(int key, char *arg, struct argp_state *state);
