/* Looks of what can fail. */
#include "base/team/look.h"

#include <string.h>

#include "base/wait_limit.h"

lk_status lk_look_check(const char *doing, lk_error *error) {
  if (!lk_team_is_stopped()) return LK_OK;
  const int why = lk_team_why_stopped();
  return lk_fail(error, lk_wait_limit_status(why), "failed to %s: %s", doing,
                 lk_wait_limit_text(why));
}

lk_status lk_look_copy(void *to, const void *from, size_t bytes, const char *doing,
                       lk_error *error) {
  for (size_t at = 0, more; at < bytes; at += more) {
    more = bytes - at < LK_LOOK_BYTES ? bytes - at : LK_LOOK_BYTES;
    memcpy((char *)to + at, (const char *)from + at, more);
    if (more == LK_LOOK_BYTES) LK_RETURN_NOT_OK(lk_look_check(doing, error));
  }
  return LK_OK;
}
