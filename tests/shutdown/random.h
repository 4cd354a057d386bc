// For the programs of this folder: numbers that follow from a seed, and how to fail.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>

namespace shutdown {

class Random {
public:
  explicit Random(unsigned seed) : engine_(seed) {}
  unsigned below(unsigned end) { return static_cast<unsigned>(engine_() % end); }
  bool chance(unsigned percent) { return below(100) < percent; }
  void nap(unsigned most_us) { usleep(below(most_us) + 1); }

private:
  std::mt19937 engine_;
};

// Never by exit, which is what is tested.
[[noreturn]] inline void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  _exit(99);
}

} // namespace shutdown
