/* What the operators of a model took, beside what the machine can do: as tables and as JSON. */
#pragma once

#include <jansson.h>

#include "executor_glue/cli/common/model.h"

typedef struct profile_report {
  lk_profile *profile;
  lk_profile_info info;
  lk_profile_entry *entries; /* [info.n_entries], those that took longest first */
  lk_machine_peak peak;
} profile_report;

/* Makes the profile, for runs. `out` is zeroed before, and destroyed also after a failure. */
lk_status profile_report_create(const cli_model *model, profile_report *out, lk_error *error);
/* Reads it once the runs have ended, and measures the machine. */
lk_status profile_report_read(const cli_model *model, profile_report *report, lk_error *error);
void profile_report_destroy(const cli_model *model, profile_report *report);

json_t *profile_report_json(const profile_report *report);
/* On stdout. */
lk_status profile_report_print(const profile_report *report, lk_error *error);
