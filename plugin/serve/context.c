#include "plugin/serve/context.h"

#include "base/status.h"
#include "plugin/internal.h"
#include "plugin/serve/serve.h"
#include "plugin/table.h"

/* A child process has its parent's environment, and the parent serves: no reason to fail. */
static lk_status serve(lk_context *context, lk_error *error) {
  lk_error why;
  const char *asked = context->made.socket;
  context->made.socket = NULL; /* the host's */
  if (asked == NULL || asked[0] == '\0') return LK_OK;
  const lk_status status = lk_serve_retain(asked, &why);
  if (status == LK_OK) {
    context->served_at = lk_serve_where;
    return LK_OK;
  }
  if (context->sources[LK_OPTION_SOCKET] != LK_FROM_ENVIRONMENT) {
    return lk_fail(error, status, "%s", why.message);
  }
  lk_context_log(context, LK_LOG_WARNING, why.message);
  return LK_OK;
}

lk_status lk_served_context_create(const lk_context_options *options, lk_context **out_context,
                                   lk_error *error) {
  LK_RETURN_NOT_OK(lk_context_create(options, out_context, error));
  const lk_status status = serve(*out_context, error);
  if (status == LK_OK) return LK_OK;
  lk_context_destroy(*out_context);
  *out_context = NULL;
  return status;
}

void lk_served_context_destroy(lk_context *context) {
  if (context != NULL && context->served_at != NULL) lk_serve_release();
  lk_context_destroy(context);
}
