/* How the words of a command line are read: by argp, with `-h` as one more way to ask for help. */
#pragma once

#include <argp.h>

/* As argp_parse, for commands and for the program itself; --help and --usage end the process. */
error_t cli_parse_words(const struct argp *argp, int argc, char **argv, unsigned flags,
                        void *input);
