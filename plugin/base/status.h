/* How a function of the library fails: a status and a sentence. */
#ifndef LK_BASE_STATUS_H
#define LK_BASE_STATUS_H

#include <latchkey/base.h>

/* Fills `error` (NULL is allowed) and returns `status`, so that failing is one statement:
 *   return lk_fail(error, LK_OUT_OF_RANGE, "failed to read option '%s': %s, 1 to 1024", ...); */
lk_status lk_fail(lk_error *error, lk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For an allocation of `bytes` for `what` that failed. */
lk_status lk_fail_memory(lk_error *error, const char *what, size_t bytes);

/* Puts "<prefix>: " before the sentence that is in `error`, and returns its status. */
lk_status lk_error_prefix(lk_error *error, lk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A text for a status; never NULL. */
const char *lk_status_text(lk_status status);

/* Leaves the calling function through its `cleanup:` label when `expression` fails. */
#define LK_TRY(expression)                                                                         \
  do {                                                                                             \
    status = (expression);                                                                         \
    if (status != LK_OK) goto cleanup;                                                             \
  } while (0)

#endif
