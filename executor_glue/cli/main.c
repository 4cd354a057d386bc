/* The `latchkey` command: the table of subcommands, and the way to one of them. */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <latchkey/latchkey.h>

#include "base/status.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/help.h"
#include "executor_glue/cli/common/report.h"

typedef struct command {
  const char *name, *summary;
  /* NULL: it is a command of the Python package, in python/latchkey/commands/ */
  int (*run)(int argc, char **argv);
  const char *needs; /* of those, what it needs besides the package; NULL: nothing */
} command;

static const command commands[] = {
    {"run", "run a model on .npy files", cli_cmd_run, NULL},
    {"test", "run ONNX test cases", cli_cmd_test, NULL},
    {"bench", "measure models over shapes and under load", cli_cmd_bench, NULL},
    {"tune", "measure for the engine auto which one takes less time", cli_cmd_tune, NULL},
    {"inspect", "show what is in a model, and what runs on what", cli_cmd_inspect, NULL},
    {"ops", "list the operators that exist", cli_cmd_ops, NULL},
    {"cache", "run a model, then show the keys of the cache", cli_cmd_cache, NULL},
    {"shapes", "draw the shapes of a series of requests", cli_cmd_shapes, NULL},
    {"completion", "print what makes a shell complete commands and options", cli_cmd_completion,
     NULL},
    {"compare", "compare results and speed with ONNX Runtime or another model", NULL,
     "pip install 'latchkey[compare]'"},
    {"doctor", "say what keeps a process from being fast, and what to do", NULL, NULL},
    {"bench-compare", "say whether one measurement of bench is slower than another", NULL, NULL},
    {"bench-plot", "show what bench has measured, in the terminal or as a picture", NULL,
     "for pictures, pip install 'latchkey[plot]'"},
    {"top", "show what a running process does, each second anew", NULL, NULL},
    {"explain", "say why runs are slow or memory grows, and what can be done", NULL, NULL},
    {"record", "run a model over shapes, and record what happens over time", NULL, NULL},
    {"report", "make a page of what was recorded, or of two runs side by side", NULL,
     "pip install 'latchkey[report]'"},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

/* What there was before, and what does its work now. */
static const struct {
  const char *name, *now;
} old_names[] = {
    {"load", "it is bench now, with --callers for --threads, --threads for --op-threads and "
             "--duration for --seconds"},
};

enum { N_OLD_NAMES = sizeof old_names / sizeof old_names[0] };

/* The input is an int: where argv has the name of the subcommand. */
static error_t parse_main(int key, char *arg, struct argp_state *state) {
  (void)arg;
  int *index = state->input;
  switch (key) {
  case 'V': {
    const lk_api *api = lk_get_api(LK_API_VERSION);
    (void)printf("latchkey %s\n", api != NULL ? api->version_text() : "(unknown)");
    exit(CLI_OK);
  }
  case ARGP_KEY_ARG:
    /* Whatever comes behind the name is the subcommand's. */
    *index = state->next - 1;
    state->next = state->argc;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* Those that the program has itself, or those of the Python package. */
static void list_kind(FILE *stream, bool of_python) {
  for (size_t i = 0; i < N_COMMANDS; i++) {
    if ((commands[i].run == NULL) != of_python) continue;
    (void)fprintf(stream, "  %-14s %s\n", commands[i].name, commands[i].summary);
  }
}

/* The table of subcommands, behind the options in --help. argp frees what comes back. */
static char *list_commands(int key, const char *text, void *input) {
  (void)input;
  if (key != ARGP_KEY_HELP_POST_DOC) return (char *)(uintptr_t)text;
  char *list = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&list, &size);
  if (stream == NULL) return NULL;
  (void)fputs("Commands:\n", stream);
  list_kind(stream, false);
  (void)fputs("\nCommands of the Python package ('pip install .' in the checkout brings them):\n",
              stream);
  list_kind(stream, true);
  (void)fputs("\n'latchkey help COMMAND' explains one. Exit codes: 0, it worked; 1, it failed; "
              "2, the command line is wrong.",
              stream);
  (void)fclose(stream);
  return list;
}

static const struct argp_option main_options[] = {
    {"version", 'V', NULL, 0, "Show the version, and the instruction set in use", -1}, {0}};

static const struct argp main_argp = {
    main_options, parse_main, "COMMAND ...", "Runs ONNX models.\v ", NULL, list_commands, NULL};

static char argv0[32] = "latchkey"; /* with the name of the subcommand, once that is known */

/* Here, since argp ends the process by itself after it has shown help. */
static void tell_of_lost_output(void) {
  lk_error error;
  if (fflush(stdout) == 0 && !ferror(stdout)) return;
  (void)lk_fail(&error, LK_IO, "failed to write to standard output");
  _exit(cli_complain(argv0, &error));
}

/* What a command of the Python package is and needs, for who asks this program for it. */
static int explain_missing(const command *one, int argc, char **argv) {
  const bool asks = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
  if (asks) {
    (void)printf("latchkey %s: %s\n\nIt is a command of the Python package, which brings it as "
                 "latchkey and as python -m\nlatchkey: 'pip install .' in the checkout.\n",
                 one->name, one->summary);
    if (one->needs != NULL) (void)printf("It needs, besides: %s\n", one->needs);
    return CLI_OK;
  }
  lk_error error;
  (void)lk_fail(&error, LK_UNSUPPORTED,
                "failed to run command '%s': this program does not have it, it comes with the "
                "Python package, as latchkey or python -m latchkey",
                one->name);
  (void)cli_complain("latchkey", &error);
  return CLI_USAGE;
}

/* The command that argv[0] names. */
static int run_command(int argc, char **argv) {
  for (size_t i = 0; i < N_COMMANDS; i++) {
    const command *one = &commands[i];
    if (strcmp(one->name, argv[0]) != 0) continue;
    if (one->run == NULL) return explain_missing(one, argc, argv);
    (void)snprintf(argv0, sizeof argv0, "latchkey %s", one->name);
    argv[0] = argv0;
    return one->run(argc, argv);
  }
  const char *hint = "see latchkey --help";
  for (size_t i = 0; i < N_OLD_NAMES; i++) {
    if (strcmp(old_names[i].name, argv[0]) == 0) hint = old_names[i].now;
  }
  lk_error error;
  (void)lk_fail(&error, LK_NOT_FOUND, "failed to find command '%s': %s", argv[0], hint);
  (void)cli_complain("latchkey", &error);
  return CLI_USAGE;
}

/* `help` is --help, and `help COMMAND` is `COMMAND --help`. */
static void read_help(int argc, char **argv) {
  static char option[] = "--help";
  if (argc < 2 || strcmp(argv[1], "help") != 0) return;
  if (argc > 2) argv[1] = argv[2];
  argv[argc > 2 ? 2 : 1] = option;
}

int main(int argc, char **argv) {
  argp_err_exit_status = CLI_USAGE;
  lk_error error;
  if (atexit(tell_of_lost_output) != 0) {
    (void)lk_fail(&error, LK_OUT_OF_MEMORY, "failed to begin: no memory for what is done at exit");
    return cli_complain(argv0, &error);
  }
  report_json_begin();
  read_help(argc, argv);
  int index = 0;
  /* argp has told what is wrong with the words, and ended the process. */
  const error_t failed = cli_parse_words(&main_argp, argc, argv, ARGP_IN_ORDER, &index);
  if (failed != 0) {
    (void)lk_fail(&error, LK_INTERNAL, "failed to read the command line: %s", strerror(failed));
    (void)cli_complain("latchkey", &error);
    return CLI_USAGE;
  }
  if (index == 0) {
    argp_help(&main_argp, stderr, ARGP_HELP_STD_USAGE, (char[]){"latchkey"});
    return CLI_USAGE;
  }
  return run_command(argc - index, argv + index);
}
