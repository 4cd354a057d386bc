/* oneDNN's statuses as those of the library. */
#pragma once

#include <latchkey/base.h>
#include <oneapi/dnnl/dnnl.h>

/* Fills `error` with a sentence, and returns `status`. */
__attribute__((format(printf, 3, 4))) lk_status lk_onednn_fail(lk_error *error, lk_status status,
                                                               const char *format, ...);
/* LK_OK when oneDNN succeeded. Else the sentence is "failed to <what>: oneDNN ...". LK_UNSUPPORTED:
 * there is no implementation, or oneDNN does not take what it was given. */
lk_status lk_onednn_check(lk_error *error, dnnl_status_t status, const char *what);

/* As LK_RETURN_NOT_OK and LK_TRY of base/status.h, which is not the module's to see. */
#define LK_ONEDNN_RETURN(call)                                                                     \
  do {                                                                                             \
    const lk_status failed = (call);                                                               \
    if (failed != LK_OK) return failed;                                                            \
  } while (0)
#define LK_ONEDNN_TRY(call)                                                                        \
  do {                                                                                             \
    status = (call);                                                                               \
    if (status != LK_OK) goto cleanup;                                                             \
  } while (0)
