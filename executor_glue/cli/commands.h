/* The subcommands: a row for each in the table of main.c. */
#pragma once

/* argv[0] is "latchkey NAME". Returns the exit code of the process. */
int cli_cmd_run(int argc, char **argv);
int cli_cmd_test(int argc, char **argv);
int cli_cmd_bench(int argc, char **argv);
int cli_cmd_tune(int argc, char **argv);
int cli_cmd_inspect(int argc, char **argv);
int cli_cmd_ops(int argc, char **argv);
int cli_cmd_cache(int argc, char **argv);
int cli_cmd_shapes(int argc, char **argv);
int cli_cmd_completion(int argc, char **argv);
