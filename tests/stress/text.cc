#include <cstdarg>
#include <cstdio>

#include "tests/stress/report.h"

namespace stress {

std::string text(const char *format, ...) {
  char buffer[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

} // namespace stress
