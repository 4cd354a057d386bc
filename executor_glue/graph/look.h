/* Whether what a thread makes is still wanted, with a sentence that says what it is. */
#pragma once

#include <latchkey/latchkey.h>

#include "base/status.h"

/* thread_look of the table. `doing` follows "failed to": "plan the run". */
static inline lk_status lk_graph_look(const lk_api *api, const char *doing, lk_error *error) {
  const lk_status status = api->thread_look(NULL);
  if (status == LK_OK) return LK_OK;
  return lk_fail(error, status, "failed to %s: %s", doing,
                 status == LK_DEADLINE ? "the deadline passed" : "cancelled");
}
