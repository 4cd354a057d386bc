/* What `latchkey tune` has measured: as a table and as JSON. */
#pragma once

#include <jansson.h>

#include "executor_glue/cli/common/model.h"

/* A node at one size. */
typedef struct tune_row {
  lk_engine_choice_info choice;
  uint32_t size, number; /* in `sizes`, in `rows` as they came */
} tune_row;

typedef struct tune_report {
  tune_row *rows;
  size_t n_rows, rows_capacity;
  char **sizes; /* as text, from malloc */
  size_t n_sizes, sizes_capacity;
  uint64_t works; /* that are in the file now, and were not before */
} tune_report;

/* Adds what the context of `model` has chosen for these inputs, which it was tuned with just now.
 * `report` is zeroed before the first, and destroyed also after a failure. */
lk_status tune_report_add(tune_report *report, const cli_model *model,
                          const lk_named_tensor *inputs, lk_error *error);
void tune_report_destroy(tune_report *report);

/* Whether there was anything to measure. */
bool tune_report_has_times(const tune_report *report);
/* `file`: where the times are; NULL: there are none. */
json_t *tune_report_json(const tune_report *report, const char *model, const char *file);
/* On stdout. Puts the rows in the order in which it shows them. */
lk_status tune_report_print(tune_report *report, const char *model, const char *file,
                            lk_error *error);
