// The report of tests/stress/report.h as the soak gives it: a sentence, and how to begin again.
#include "tests/stress/report.h"

#include <unistd.h>

#include <cstdarg>
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

std::string text(const char *format, ...) {
  char buffer[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

void violation(const std::string &sentence) {
  mutex.lock(); // never unlocked: the thread that comes second waits for the end
  std::fprintf(stderr, "\nsoak: %s\nagain: --seed %llu --threads %u\n", sentence.c_str(),
               static_cast<unsigned long long>(run.seed), run.threads);
  _exit(1);
}

} // namespace stress
