/* What a run does that did not get the memory it needed. */
#pragma once

#include <latchkey/session.h>
#include <stdbool.h>

/* After LK_OUT_OF_MEMORY: drops what is idle in the context, arenas and cache entries of all its
 * models, and what the run's trace (NULL: it has none) has noted, and gives freed memory back to
 * the system, so that the run may be tried once more. False, and nothing is dropped: the context's
 * limit has refused nothing, or a block that is larger than all that it allows. */
bool lk_reclaim_idle(const lk_api *api, lk_context *context, lk_trace *trace);
