#include "plugin/serve/reporters.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/callees.h"
#include "plugin/internal.h"

_Static_assert(sizeof(lk_callee) <= sizeof(((lk_reporter *)0)->opaque), "a callee has room");

static lk_callees list = LK_CALLEES(list);

/* What is being written. */
typedef struct reports {
  FILE *stream;
  long most_bytes;
  uint64_t written, left_out;
} reports;

void lk_reporter_enter(lk_reporter *reporter) {
  lk_callees_enter(&list, (lk_callee *)reporter->opaque, reporter->context);
}

void lk_reporter_leave(lk_reporter *reporter) {
  (void)lk_callees_leave(&list, (lk_callee *)reporter->opaque);
}

/* False: it has no memory to answer. */
static bool write_one(reports *to, lk_callee *callee) {
  const lk_reporter *reporter = LK_CALLEE_HOST(callee, lk_reporter);
  const uint64_t context = reporter->context->serial; /* which may end while it is asked */
  char *text = reporter->make(reporter->object);
  if (text == NULL) return false;
  (void)fprintf(to->stream, "%s{\"session\":%" PRIu32 ",\"context\":%" PRIu64 ",\"report\":%s}",
                to->written == 0 ? "" : ",", callee->number, context, text);
  reporter->release(reporter->object, text);
  return true;
}

static void ask(lk_callee *callee, void *arg) {
  reports *to = arg;
  const bool is_written = ftell(to->stream) < to->most_bytes && write_one(to, callee);
  to->written += is_written;
  to->left_out += !is_written;
}

uint64_t lk_reporters_write(FILE *stream, long most_bytes) {
  reports to = {.stream = stream, .most_bytes = most_bytes};
  lk_callees_call(&list, NULL, ask, &to);
  return to.left_out;
}
