/* Profiles: what each step of each operator took, added up over runs.
 *
 * A run takes a profile, makes room in it for the times of its steps, and runs with a clock; what
 * it found is added at the end, if it has succeeded. Entries are found by what they show, so runs
 * of any session can share a profile.
 */
#pragma once

#include <latchkey/session.h>
#include <stdbool.h>

/* labels.h and run_times.h, which have atomics that C++ does not know */
typedef struct lk_labels lk_labels;
typedef struct lk_run_times lk_run_times;

lk_status lk_profile_create(const lk_allocator *allocator, lk_profile **out_profile,
                            lk_error *error);
void lk_profile_destroy(lk_profile *profile); /* NULL is allowed */
void lk_profile_clear(lk_profile *profile);
lk_status lk_profile_info_get(const lk_profile *profile, lk_profile_info *out, lk_error *error);
lk_status lk_profile_entry_get(const lk_profile *profile, uint32_t index, lk_profile_entry *out,
                               lk_error *error);

/* ---- for a run, in this order ---- */

/* Takes the profile, before a run plan is looked for. LK_BUSY: another run has it. */
lk_status lk_profile_begin(lk_profile *profile, lk_error *error);
/* The run plan is there, with these labels: makes room for the times of its steps, which get
 * `step_threads` each. */
lk_status lk_profile_bound(lk_profile *profile, lk_labels *labels, bool was_built,
                           uint32_t step_threads, lk_error *error);
/* That room. The run may have its times elsewhere. */
lk_run_times *lk_profile_times(lk_profile *profile);
/* Gives the profile back; adds what the run took. `times` NULL: it has failed. */
void lk_profile_end(lk_profile *profile, const lk_run_times *times);
