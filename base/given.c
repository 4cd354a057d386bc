#include "base/given.h"

#include <string.h>

bool lk_is_status(lk_status given) {
  switch (given) {
#define STATUS_CASE(symbol, value, text) case symbol:
    LK_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    return true;
  }
  return false;
}

/* Whatever the locale of the process. */
static bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool lk_is_name(const char *given, size_t most, const char *others) {
  size_t length = 0;
  if (given == NULL) return false;
  for (; given[length] != '\0'; length++) {
    const char c = given[length];
    if (length == most || !(is_letter_or_digit(c) || strchr(others, c) != NULL)) return false;
  }
  return length > 0;
}
