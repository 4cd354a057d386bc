/* How a subcommand reads its command line, does its work, and fails. */
#include "executor_glue/cli/common/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "executor_glue/cli/common/help.h"

int cli_complain(const char *argv0, const lk_error *error) {
  (void)fflush(stdout);
  (void)fprintf(stderr, "%s: %s\n", argv0, error->message);
  return CLI_FAILED;
}

static int parse(const struct argp *argp, int argc, char **argv, cli_args *args) {
  lk_error *error = &args->error;
  error->message[0] = '\0';
  const error_t failed = cli_parse_words(argp, argc, argv, 0, args);
  if (failed == 0) return CLI_OK;
  if (error->message[0] == '\0') {
    (void)lk_fail(error, LK_INTERNAL, "failed to read the command line: %s", strerror(failed));
  }
  (void)cli_complain(argv[0], error);
  return CLI_USAGE;
}

int cli_run(const struct argp *argp, int argc, char **argv, cli_args *args, uint64_t requests,
            cli_work *work) {
  lk_error *error = &args->error;
  lk_status status = cli_args_create(args, requests);
  int code = status == LK_OK ? parse(argp, argc, argv, args) : cli_complain(argv[0], error);
  if (code == CLI_OK && work(args, error) != LK_OK) code = cli_complain(argv[0], error);
  cli_args_destroy(args);
  return code;
}

error_t cli_parse_model(int key, char *arg, struct argp_state *state) {
  cli_args *args = state->input;
  lk_error *error = &args->error;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &args->model;
    state->child_inputs[1] = &args->inputs;
    return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num > 0) {
      const char *hint =
          strchr(arg, '=') != NULL ? " (the shell expands braces without quotes)" : "";
      return cli_parsed(lk_fail(
          error, LK_INVALID_ARGUMENT,
          "failed to read the command line: '%s' is one argument too many, only MODEL is allowed%s",
          arg, hint));
    }
    args->path = arg;
    return 0;
  case ARGP_KEY_NO_ARGS:
    return cli_parsed(lk_fail(error, LK_INVALID_ARGUMENT,
                              "failed to read the command line: MODEL is missing, see --help"));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}
