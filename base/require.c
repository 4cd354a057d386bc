/* Arguments that must not be NULL, refused by name. */
#include "base/require.h"

#include <string.h>

lk_status lk_fail_null(const char *names, size_t index, const char *call, lk_error *error) {
  for (size_t i = 0; i < index; i++) names += strcspn(names, ",") + strlen(", ");
  return lk_fail(error, LK_INVALID_ARGUMENT, "failed to call %s: %.*s is NULL, it is required",
                 call, (int)strcspn(names, ","), names);
}
