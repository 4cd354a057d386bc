/* How a function of the library fails: a status and a sentence. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

lk_status lk_fail(lk_error *error, lk_status status, const char *format, ...) {
  if (error != NULL) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return status;
}

lk_status lk_fail_memory(lk_error *error, const char *what, size_t bytes) {
  return lk_fail(error, LK_OUT_OF_MEMORY, "failed to allocate %zu bytes for %s", bytes, what);
}

lk_status lk_error_prefix(lk_error *error, lk_status status, const char *format, ...) {
  if (error != NULL) {
    char rest[LK_ERROR_CAPACITY];
    memcpy(rest, error->message, sizeof rest);
    rest[sizeof rest - 1] = '\0';
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length + 3 < sizeof error->message) {
      (void)snprintf(error->message + length, sizeof error->message - (size_t)length, ": %.*s",
                     (int)(sizeof error->message - (size_t)length - 3), rest);
    }
    error->status = status;
  }
  return status;
}

const char *lk_status_text(lk_status status) {
  switch (status) {
#define LK_STATUS_CASE(symbol, value, text)                                                        \
  case symbol:                                                                                     \
    return text;
    LK_STATUS_LIST(LK_STATUS_CASE)
#undef LK_STATUS_CASE
  }
  return "unknown status";
}
