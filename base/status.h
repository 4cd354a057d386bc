/* How a function of the library fails: a status and a sentence. */
#pragma once

#include <latchkey/base.h>

/* Fills `error` (NULL is allowed) and returns `status`, so that failing is one statement:
 *   return lk_fail(error, LK_OUT_OF_RANGE, "failed to read option '%s': %s, 1 to 1024", ...);
 *
 * A sentence is one line of valid UTF-8, whatever the names in it hold: once it is formatted,
 * lk_text_escape (base/text.h) escapes it. */
lk_status lk_fail(lk_error *error, lk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For an allocation of `bytes` for `what` that failed. */
lk_status lk_fail_memory(lk_error *error, const char *what, size_t bytes);

/* Puts "<prefix>: " before the sentence that is in `error`, and returns `status`. */
lk_status lk_error_prefix(lk_error *error, lk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A text for a status; never NULL. */
const char *lk_status_text(lk_status status);

/* There are two ways for a failure to leave a function, and a function uses one of them.
 *
 * One that owns nothing, or nothing yet, returns it. */
#define LK_RETURN_NOT_OK(expression)                                                               \
  do {                                                                                             \
    const lk_status lk_status_ = (expression);                                                     \
    if (lk_status_ != LK_OK) return lk_status_;                                                    \
  } while (0)

/* One that owns something until it returns has `lk_status status = LK_OK;` and one exit: behind the
 * label `cleanup:`, where it releases what it owns. */
#define LK_TRY(expression)                                                                         \
  do {                                                                                             \
    status = (expression);                                                                         \
    if (status != LK_OK) goto cleanup;                                                             \
  } while (0)
