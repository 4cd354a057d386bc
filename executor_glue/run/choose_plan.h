/* Finds or builds the run plan of a run. */
#ifndef LK_RUN_CHOOSE_PLAN_H
#define LK_RUN_CHOOSE_PLAN_H

#include "executor_glue/run/invocation.h"

/* Sets `invocation->entry` to the run plan for the threads that the run has been granted. */
lk_status lk_choose_plan(lk_invocation *invocation, lk_error *error);
/* Gives the entry back. Also when there is none. */
void lk_release_plan(lk_invocation *invocation);

#endif
