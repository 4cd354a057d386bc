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
  LK_JSON_SET(&json, choice, node, work, engine, native_ns, engine_ns, build_ns);
  lk_json_set(&json, "is_engine", json_boolean(choice->is_engine != 0));
  lk_json_set(&json, "is_measured", json_boolean(choice->is_measured != 0));
  lk_json_set(&json, "is_of_class", json_boolean(choice->is_of_class != 0));
  lk_json_set(&json, "rule", json_string(lk_report_rule(choice->rule)));
  LK_JSON_SET(&json, choice, index, estimated_native_ns, estimated_engine_ns, reorder_ns,
              tensor_bytes, built_bytes);
  lk_json_set(&json, "post_ops", lk_json_number(choice->n_post_ops));
  LK_JSON_SET(&json, choice, taken_post_ops, reason);
  return lk_json_end(&json);
}
