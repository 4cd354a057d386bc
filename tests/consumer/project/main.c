/* The smallest user of an installed Latchkey: both tables are there, and a context opens. */
#include <latchkey/latchkey.h>
#include <latchkey/session.h>

#include <stdio.h>

int main(void) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  if (!api || !lk_get_session_api(LK_SESSION_API_VERSION)) {
    fprintf(stderr, "no function table\n");
    return 1;
  }

  lk_error error;
  lk_context *context = NULL;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  if (api->context_create(&options, &context, &error) != LK_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  api->context_destroy(context);
  return 0;
}
