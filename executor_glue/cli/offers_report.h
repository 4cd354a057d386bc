/* What engines offer for the works of a model, and what was chosen: as a table and as JSON. */
#pragma once

#include <jansson.h>

#include "executor_glue/cli/common/model.h"

typedef struct offers_report {
  lk_engine_choice_info *works;
  size_t n_works, capacity;
  char *sizes;        /* as text, from malloc */
  const char *engine; /* of the context */
  int32_t threads;
  uint64_t tuning_works, tuning_fitting; /* as lk_stats has them */
  bool is_open;                          /* a dimension of the model is not fixed */
  bool is_by_data; /* sizes depend on values, of an input or of what is computed */
} offers_report;

/* Reads what the context of `model` has noted, which has run these inputs. `report` is zeroed
 * before, and destroyed also after a failure. */
lk_status offers_report_read(offers_report *report, const cli_model *model,
                             const lk_named_tensor *inputs, lk_error *error);
void offers_report_destroy(offers_report *report);

json_t *offers_report_json(const offers_report *report);
/* On stdout. */
lk_status offers_report_print(const offers_report *report, lk_error *error);
