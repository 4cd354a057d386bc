/* What the subcommands have in common: their signature, exit codes, and how they fail. */
#ifndef LK_CLI_COMMON_CLI_H
#define LK_CLI_COMMON_CLI_H

#include <latchkey/base.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* A subcommand: argv[0] is "latchkey NAME". Returns the exit code of the process. */
int cli_cmd_run(int argc, char **argv);
int cli_cmd_test(int argc, char **argv);
int cli_cmd_bench(int argc, char **argv);
int cli_cmd_load(int argc, char **argv);
int cli_cmd_inspect(int argc, char **argv);
int cli_cmd_ops(int argc, char **argv);
int cli_cmd_cache(int argc, char **argv);

/* Prints "<argv0>: <sentence>" on stderr. */
void cli_complain(const char *argv0, const lk_error *error);

#endif
