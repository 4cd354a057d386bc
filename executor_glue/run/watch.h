/* What ends a run ends its operators too: those that take long look within. */
#pragma once

#include <latchkey/latchkey.h>

#include "base/stop.h"

/* Until the end, what runs in the frame looks at `stop`, where that has anything to look at. */
lk_status lk_watch_begin(const lk_api *api, lk_frame *frame, const lk_stop *stop, lk_error *error);
void lk_watch_end(const lk_api *api, lk_frame *frame, const lk_stop *stop);
/* The same of what this thread builds and computes outside of frames that watch themselves. Not
 * ended where it fails. */
lk_status lk_watch_thread_begin(const lk_api *api, lk_thread_watch *room, const lk_stop *stop,
                                lk_error *error);
