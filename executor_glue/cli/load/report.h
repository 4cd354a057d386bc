/* What `latchkey load` shows at the end: tables or JSON. */
#ifndef LK_CLI_LOAD_REPORT_H
#define LK_CLI_LOAD_REPORT_H

#include "executor_glue/cli/load/run.h"

lk_status load_report_json(const load_result *result, lk_error *error);
lk_status load_report_text(const load_result *result, lk_error *error);

#endif
