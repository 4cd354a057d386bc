/* argp's own --help answers to `-?`, and not to `-h`: it is left out, and replaced. */
#include "executor_glue/cli/common/help.h"

enum { KEY_USAGE = 0x500 };

static const struct argp_option options[] = {
    {"help", 'h', NULL, 0, "Give this help list", -1},
    {NULL, '?', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, -1},
    {"usage", KEY_USAGE, NULL, 0, "Give a short usage message", -1},
    {0}};

static error_t parse_word(int key, char *arg, struct argp_state *state) {
  (void)arg;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = state->input;
    return 0;
  case 'h':
  case '?':
    argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
    return 0;
  case KEY_USAGE:
    argp_state_help(state, state->out_stream, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

error_t cli_parse_words(const struct argp *argp, int argc, char **argv, unsigned flags,
                        void *input) {
  const struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
  const struct argp whole = {.options = options, .parser = parse_word, .children = children};
  return argp_parse(&whole, argc, argv, flags | ARGP_NO_HELP, NULL, input);
}
