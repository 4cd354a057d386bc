/* Looks whether an opening is wanted any more, after each of the many small steps that it takes: a
 * field of a file, a node of a graph. What the thread watches is known to the library that has the
 * functions of `api`; outside of lk_steps_begin and lk_steps_end, steps look at nothing. */
#pragma once

#include <latchkey/latchkey.h>

/* From now on, steps of this thread look. Returns what lk_steps_end gets. */
const lk_api *lk_steps_begin(const lk_api *api);
void lk_steps_end(const lk_api *before);

/* A step of some microseconds at most is done: one of some dozens looks. LK_CANCELLED, LK_DEADLINE:
 * as api->thread_look. */
lk_status lk_step(lk_error *error);
/* Looks now. */
lk_status lk_step_look(lk_error *error);
