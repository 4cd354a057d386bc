/* What passes have left. */
#include "executor_glue/report/json.h"
#include "executor_glue/report/report.h"

json_t *lk_report_refusal(const lk_session_refusal *refusal) {
  lk_json json = lk_json_begin(json_object());
  lk_json_set(&json, "pass_name", lk_json_text(refusal->pass));
  LK_JSON_SET(&json, refusal, op_type, domain, node_name, output_name, reason, advice);
  return lk_json_end(&json);
}
