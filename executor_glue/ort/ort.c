/* Lists, failures and log lines, from one side to the other. */
#include "executor_glue/ort/ort.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"

lk_status lk_ort_check(const lk_ort *ort, OrtStatus *result, const char *what, lk_error *error) {
  if (result == NULL) return LK_OK;
  const lk_status status = lk_fail(error, LK_INTERNAL, "failed to %s: ONNX Runtime says \"%s\"",
                                   what, ort_GetErrorMessage(ort->api)(result));
  ort_ReleaseStatus(ort->api)(result);
  return status;
}

static OrtErrorCode code_of(lk_status status) {
  switch (status) {
  case LK_INVALID_ARGUMENT:
  case LK_OUT_OF_RANGE:
  case LK_NOT_FOUND:
    return ORT_INVALID_ARGUMENT;
  case LK_UNSUPPORTED:
    return ORT_NOT_IMPLEMENTED;
  case LK_CANCELLED:
    return ORT_FAIL; /* what ONNX Runtime itself returns */
  default:
    return ORT_EP_FAIL;
  }
}

OrtStatus *lk_ort_status(const lk_ort *ort, lk_status status, const lk_error *error) {
  if (status == LK_OK) return NULL;
  return ort_CreateStatus(ort->api)(code_of(status), error->message);
}

void lk_ort_log(const lk_ort *ort, const OrtLogger *logger, OrtLoggingLevel level,
                const char *line) {
  char safe[4096];
  (void)lk_text_escape(line, safe, sizeof safe);
  OrtStatus *result =
      ort_Logger_LogMessage(ort->api)(logger, level, safe, "latchkey", 0, LK_ORT_PROVIDER_NAME);
  if (result != NULL) ort_ReleaseStatus(ort->api)(result); /* nothing can be done about it */
}

/* How many items there are, then all of them. */
#define DEFINE_LIST(slot, function, list, owner, things, thing, words)                             \
  lk_status lk_ort_##function(const lk_ort *ort, const Ort##owner *from, list *out,                \
                              lk_error *error) {                                                   \
    *out = (list){0};                                                                              \
    LK_RETURN_NOT_OK(lk_ort_check(ort, ort_##owner##_GetNum##things(ort->api)(from, &out->count),  \
                                  "count a " words, error));                                       \
    out->items = lk_calloc(lk_allocator_default(), out->count, sizeof *out->items);                \
    if (out->items == NULL) {                                                                      \
      return lk_fail_memory(error, "a " words, out->count * sizeof *out->items);                   \
    }                                                                                              \
    if (out->count == 0) return LK_OK;                                                             \
    return lk_ort_check(ort, ort_##owner##_Get##things(ort->api)(from, out->items, out->count),    \
                        "read a " words, error);                                                   \
  }
LK_ORT_LISTS(DEFINE_LIST)
