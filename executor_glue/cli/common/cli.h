/* How a subcommand reads its command line, does its work, and fails.
 *
 * A parser that finds a bad value fills the error of its arguments and returns EINVAL, so that argp
 * neither prints nor exits; the sentence is then printed here.
 */
#pragma once

#include <argp.h>

#include <latchkey/base.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* What a subcommand does once its arguments are read. */
typedef lk_status cli_work(void *args, lk_error *error);

/* Reads the command line into `args`, does `work`, and prints the sentence of what failed. Returns
 * the exit code. `error` is the one that the parsers of `args` fill. */
int cli_run(const struct argp *argp, int argc, char **argv, void *args, cli_work *work,
            lk_error *error);

/* Prints "<argv0>: <sentence>" on stderr, and returns CLI_FAILED. */
int cli_complain(const char *argv0, const lk_error *error);

/* For parsers of subcommands: takes the one positional argument, MODEL. */
error_t cli_take_model(int key, char *arg, const struct argp_state *state, const char **out_path,
                       lk_error *error);
