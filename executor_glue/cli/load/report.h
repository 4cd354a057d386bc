/* What `latchkey load` shows at the end: tables or JSON. */
#pragma once

#include "executor_glue/cli/load/run.h"

lk_status load_report_json(const load_result *result, lk_error *error);
lk_status load_report_text(const load_result *result, lk_error *error);
