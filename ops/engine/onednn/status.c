/* oneDNN's statuses as those of the library. */
#include "ops/engine/onednn/status.h"

#include <stdarg.h>
#include <stdio.h>

lk_status lk_onednn_fail(lk_error *error, lk_status status, const char *format, ...) {
  va_list arguments;
  if (error == NULL) return status;
  error->status = status;
  va_start(arguments, format);
  (void)vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return status;
}

lk_status lk_onednn_check(lk_error *error, dnnl_status_t status, const char *what) {
  switch (status) {
  case dnnl_success:
    return LK_OK;
  case dnnl_out_of_memory:
    return lk_onednn_fail(error, LK_OUT_OF_MEMORY, "failed to %s: oneDNN is out of memory", what);
  case dnnl_unimplemented:
    return lk_onednn_fail(error, LK_UNSUPPORTED,
                          "failed to %s: oneDNN has no implementation for these types and shapes",
                          what);
  case dnnl_invalid_arguments:
    return lk_onednn_fail(error, LK_UNSUPPORTED,
                          "failed to %s: oneDNN does not take these arguments", what);
  default:
    return lk_onednn_fail(error, LK_INTERNAL, "failed to %s: oneDNN's status is %d", what,
                          (int)status);
  }
}
