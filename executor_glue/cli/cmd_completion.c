/* latchkey completion: what makes a shell complete its words. The scripts ask the program for its
 * commands and options when they are needed, so they hold for those of the Python package and for
 * later versions too. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/help.h"
#include "executor_glue/cli/common/options.h"

/* The options of a --help. */
#define FIND_OPTIONS                                                                               \
  "grep -oE '^ {1,8}(-[a-zA-Z?]( [A-Z]+)?, )?--[a-z][a-z-]*' | grep -oE -e '--[a-z-]+'"

static const char for_bash[] =
    "# latchkey completion bash\n"
    "_latchkey() {\n"
    "  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} words\n"
    "  COMPREPLY=()\n"
    "  if ((COMP_CWORD == 1)) || [[ $COMP_CWORD == 2 && ${COMP_WORDS[1]} == help ]]; then\n"
    "    words=$(\"$program\" --help 2>/dev/null |\n"
    "      sed -n 's/^  \\([a-z][a-z-]*\\)  *[a-z].*/\\1/p')\n"
    "    ((COMP_CWORD == 1)) && words+=' help --help --version'\n"
    "  elif [[ $word == -* ]]; then\n"
    "    words=$(\"$program\" \"${COMP_WORDS[1]}\" --help 2>/dev/null |\n"
    "      " FIND_OPTIONS ")\n"
    "  else\n"
    "    return 0\n" /* a file, by -o default */
    "  fi\n"
    "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
    "}\n"
    "complete -o default -F _latchkey latchkey\n";

static const char for_zsh[] =
    "#compdef latchkey\n"
    "# latchkey completion zsh\n"
    "_latchkey() {\n"
    "  local program=${words[1]} line\n"
    "  local -a found\n"
    "  if ((CURRENT == 2)) || { ((CURRENT == 3)) && [[ ${words[2]} == help ]] }; then\n"
    "    for line in ${(f)\"$($program --help 2>/dev/null |\n"
    "      sed -n 's/^  \\([a-z][a-z-]*\\)  *\\([a-z].*\\)/\\1:\\2/p')\"}; do found+=($line); "
    "done\n"
    "    ((CURRENT == 2)) && found+=('help:explain a command')\n"
    "    _describe command found\n"
    "  elif [[ ${words[CURRENT]} == -* ]]; then\n"
    "    found=(${(f)\"$($program ${words[2]} --help 2>/dev/null |\n"
    "      " FIND_OPTIONS ")\"})\n"
    "    compadd -- $found\n"
    "  else\n"
    "    _files\n"
    "  fi\n"
    "}\n"
    "if [[ ${funcstack[1]} == _latchkey ]]; then _latchkey \"$@\"; else compdef _latchkey "
    "latchkey; fi\n";

typedef struct completion_args {
  const char *script;
  lk_error error;
} completion_args;

static error_t parse(int key, char *arg, struct argp_state *state) {
  completion_args *args = state->input;
  lk_error *error = &args->error;
  switch (key) {
  case ARGP_KEY_ARG:
    if (state->arg_num > 0) {
      return cli_parsed(lk_fail(error, LK_INVALID_ARGUMENT,
                                "failed to read the command line: '%s' is one argument too many, "
                                "only SHELL is allowed",
                                arg));
    }
    args->script = strcmp(arg, "bash") == 0 ? for_bash : strcmp(arg, "zsh") == 0 ? for_zsh : NULL;
    if (args->script != NULL) return 0;
    return cli_parsed(
        lk_fail(error, LK_INVALID_ARGUMENT,
                "failed to read the command line: SHELL is '%s', bash or zsh is needed", arg));
  case ARGP_KEY_NO_ARGS:
    return cli_parsed(lk_fail(error, LK_INVALID_ARGUMENT,
                              "failed to read the command line: SHELL is missing, see --help"));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const char doc[] =
    "Prints a script that makes a shell complete the commands and options of latchkey.\v"
    "SHELL is bash or zsh.\n\n"
    "Examples:\n"
    "  source <(latchkey completion bash)        in ~/.bashrc\n"
    "  source <(latchkey completion zsh)         in ~/.zshrc, behind compinit";

static const struct argp command = {.parser = parse, .args_doc = "SHELL", .doc = doc};

int cli_cmd_completion(int argc, char **argv) {
  completion_args args = {0};
  if (cli_parse_words(&command, argc, argv, 0, &args) != 0) {
    (void)cli_complain(argv[0], &args.error);
    return CLI_USAGE;
  }
  (void)fputs(args.script, stdout);
  return CLI_OK;
}
