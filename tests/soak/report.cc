// The report of tests/stress/report.h as the soak gives it: a sentence, and how to begin again.
#include "tests/stress/report.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>

namespace stress {
namespace {

std::mutex mutex; // one violation is enough
Options run;

} // namespace

void report_begin(const Options &options) {
  run = options;
}

void violation(const std::string &sentence) {
  mutex.lock(); // never unlocked: the thread that comes second waits for the end
  std::fprintf(stderr, "\nsoak: %s\nagain: --seed %llu --threads %u\n", sentence.c_str(),
               static_cast<unsigned long long>(run.seed), run.threads);
  _exit(1);
}

} // namespace stress
