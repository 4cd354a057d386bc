/* What an engine has offered, and what was chosen. */
#include "executor_glue/report/json.h"
#include "executor_glue/report/report.h"

const char *lk_report_rule(uint32_t rule) {
  static const char *const names[] = {[LK_CHOICE_NONE] = "none",
                                      [LK_CHOICE_OPTION] = "option",
                                      [LK_CHOICE_ESTIMATES] = "estimates",
                                      [LK_CHOICE_MEASURED] = "measured",
                                      [LK_CHOICE_OF_CLASS] = "size_class"};
  return rule < sizeof names / sizeof *names ? names[rule] : "unknown";
}

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
  lk_json_set(&json, "is_of_class", json_boolean(choice->is_of_class != 0));
  lk_json_set(&json, "rule", json_string(lk_report_rule(choice->rule)));
  lk_json_set(&json, "index", lk_json_number(choice->index));
  lk_json_set(&json, "estimated_native_ns", json_real(choice->estimated_native_ns));
  lk_json_set(&json, "estimated_engine_ns", json_real(choice->estimated_engine_ns));
  lk_json_set(&json, "reorder_ns", json_real(choice->reorder_ns));
  lk_json_set(&json, "tensor_bytes", lk_json_number(choice->tensor_bytes));
  lk_json_set(&json, "built_bytes", lk_json_number(choice->built_bytes));
  lk_json_set(&json, "post_ops", lk_json_number(choice->n_post_ops));
  lk_json_set(&json, "taken_post_ops", lk_json_number(choice->taken_post_ops));
  lk_json_set(&json, "reason", lk_json_text(choice->reason));
  return lk_json_end(&json);
}
