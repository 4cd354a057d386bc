/* Finds the run plan of a run, or builds it. */
#pragma once

#include "executor_glue/run/invocation.h"

/* Sets `invocation->entry`. */
lk_status lk_choose_plan(lk_invocation *invocation, lk_error *error);
/* Gives the entry back. Also when there is none. */
void lk_release_plan(lk_invocation *invocation);
/* Builds a plan for sizes that recur in place of `invocation->entry`, and sets that to it. Ends the
 * run's claim of the former one, if it has one. After a failure the former one still serves, and
 * `invocation->entry` is that or NULL. */
lk_status lk_build_recurring(lk_invocation *invocation, lk_error *error);
/* When the run has ended with `status`: builds such a plan where the run has found it due. So a run
 * that is late is none for it. Where native computes all in both plans, the former one stays. */
void lk_settle_run(lk_invocation *invocation, lk_status status);

/* How an entry is built. */
typedef struct lk_entry_desc {
  bool is_cached;
  uint32_t workers, flags; /* as in lk_run_plan_desc */
} lk_entry_desc;

/* Builds an entry for the sizes of a run. What ends the run ends this, too. */
lk_status lk_build_entry(lk_invocation *invocation, const lk_entry_desc *entry,
                         lk_plan_entry **out_entry, lk_error *error);
