/* What passes have left. */
#include "executor_glue/report/json.h"
#include "executor_glue/report/report.h"

json_t *lk_report_refusal(const lk_session_refusal *refusal) {
  lk_json json = lk_json_begin(json_object());
  lk_json_set(&json, "pass_name", lk_json_text(refusal->pass));
  lk_json_set(&json, "op_type", lk_json_text(refusal->op_type));
  lk_json_set(&json, "domain", lk_json_text(refusal->domain));
  lk_json_set(&json, "node_name", lk_json_text(refusal->node_name));
  lk_json_set(&json, "output_name", lk_json_text(refusal->output_name));
  lk_json_set(&json, "reason", lk_json_text(refusal->reason));
  lk_json_set(&json, "advice", lk_json_text(refusal->advice));
  return lk_json_end(&json);
}
