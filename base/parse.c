/* Options as text. */
#include "base/parse.h"

#include <errno.h>
#include <latchkey/latchkey.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"

bool lk_parse_number(const char *text, bool units, uint64_t *out) {
  if (*text < '0' || *text > '9') return false;
  char *end = NULL;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  if (errno != 0) return false;
  int shift = 0;
  if (units && *end != '\0') {
    static const char letters[] = "kmg";
    const char *found = strchr(letters, *end >= 'A' && *end <= 'Z' ? *end + ('a' - 'A') : *end);
    if (found == NULL) return false;
    shift = 10 * (int)(found - letters + 1);
    end++;
  }
  if (*end != '\0' || value > UINT64_MAX >> shift) return false;
  *out = (uint64_t)value << shift;
  return true;
}

bool lk_parse_cache_mode(const char *text, uint32_t *out) {
  for (uint32_t mode = LK_CACHE_OFF; mode <= LK_CACHE_SHARED; mode++) {
    if (strcmp(text, lk_cache_mode_name(mode)) != 0) continue;
    *out = mode;
    return true;
  }
  return false;
}
