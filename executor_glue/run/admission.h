/* What a run waits for: a place among its executor's runs, then processors, so that a run that
 * waits for a place takes no processors from others. */
#pragma once

#include "executor_glue/run/invocation.h"

lk_status lk_take_place(lk_invocation *invocation, lk_error *error);
/* Waits for `least` of them at least. */
lk_status lk_take_threads(lk_invocation *invocation, int32_t least, lk_error *error);
/* Those that the caller has asked for already, or else as many as there are for it. */
lk_status lk_get_threads(lk_invocation *invocation, const lk_graph_run *run, lk_error *error);
/* A place, and then these. */
lk_status lk_enter(lk_invocation *invocation, const lk_graph_run *run, lk_error *error);
/* Gives back what was taken. */
void lk_leave(lk_invocation *invocation);
