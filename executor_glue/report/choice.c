/* What the engine `auto` has chosen. */
#include "executor_glue/report/json.h"
#include "executor_glue/report/report.h"

json_t *lk_report_choice(const lk_engine_choice_info *choice) {
  lk_json json = lk_json_begin(json_object());
  lk_json_set(&json, "node", lk_json_text(choice->node));
  lk_json_set(&json, "work", lk_json_text(choice->work));
  lk_json_set(&json, "engine", lk_json_text(choice->engine));
  lk_json_set(&json, "native_ns", json_real(choice->native_ns));
  lk_json_set(&json, "engine_ns", json_real(choice->engine_ns));
  lk_json_set(&json, "build_ns", json_real(choice->build_ns));
  lk_json_set(&json, "is_engine", json_boolean(choice->is_engine != 0));
  lk_json_set(&json, "is_measured", json_boolean(choice->is_measured != 0));
  lk_json_set(&json, "reason", lk_json_text(choice->reason));
  return lk_json_end(&json);
}
