// The arguments of a benchmark that prints its own table: [--json] [--quick | --long].
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

// How many times everything is measured.
struct Rounds {
  int usual, quick, longer;
};

struct Arguments {
  bool json = false;
  int rounds;

  // Ends the process with 2 when an argument is unknown.
  Arguments(const char *program, int argc, char **argv, const Rounds &choice)
      : rounds(choice.usual) {
    for (int i = 1; i < argc; i++) {
      if (std::strcmp(argv[i], "--json") == 0) {
        json = true;
      } else if (std::strcmp(argv[i], "--quick") == 0) {
        rounds = choice.quick;
      } else if (std::strcmp(argv[i], "--long") == 0) {
        rounds = choice.longer;
      } else {
        std::fprintf(stderr, "%s: unknown argument '%s'\n", program, argv[i]);
        std::exit(2);
      }
    }
  }
};
