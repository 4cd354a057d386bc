/* Finds or builds the run plan of a run. */
#pragma once

#include "executor_glue/run/invocation.h"

/* Sets `invocation->entry` to the run plan for the threads that the run has been granted. */
lk_status lk_choose_plan(lk_invocation *invocation, lk_error *error);
/* Gives the entry back. Also when there is none. */
void lk_release_plan(lk_invocation *invocation);
