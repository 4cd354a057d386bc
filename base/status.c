/* How a function of the library fails: a status and a sentence. */
#include "base/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory_budget.h"
#include "base/text.h"

/* A sentence before it is escaped. A character or an escape has at most 4 bytes, and escaping makes
 * nothing shorter: one that vsnprintf cuts in two begins too late to fit in the message. */
enum { DRAFT_BYTES = LK_ERROR_CAPACITY + 3 };

lk_status lk_fail(lk_error *error, lk_status status, const char *format, ...) {
  if (error == NULL) return status;
  char draft[DRAFT_BYTES] = "";
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(draft, sizeof draft, format, arguments);
  va_end(arguments);
  error->status = status;
  (void)lk_text_escape(draft, error->message, sizeof error->message);
  return status;
}

lk_status lk_fail_memory(lk_error *error, const char *what, size_t bytes) {
  const lk_memory_refusal refusal = lk_memory_refusal_last();
  if (refusal.limit == 0) {
    return lk_fail(error, LK_OUT_OF_MEMORY, "failed to allocate %zu bytes for %s", bytes, what);
  }
  return lk_fail(error, LK_OUT_OF_MEMORY,
                 "failed to allocate %zu bytes for %s: %" PRIu64 " of at most %" PRIu64
                 " bytes are in use; memory_bytes is the limit, raise it",
                 bytes, what, refusal.held, refusal.limit);
}

lk_status lk_error_prefix(lk_error *error, lk_status status, const char *format, ...) {
  if (error == NULL) return status;
  const lk_error before = *error;
  char prefix[DRAFT_BYTES] = "";
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(prefix, sizeof prefix, format, arguments);
  va_end(arguments);
  return lk_fail(error, status, "%s: %.*s", prefix, (int)sizeof before.message - 1, before.message);
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
