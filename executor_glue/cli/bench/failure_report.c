/* Requests that failed, or whose outputs were other than alone: as text and as JSON. */
#include "executor_glue/cli/bench/failure_report.h"

#include <inttypes.h>

#include "base/status.h"

static json_t *to_json(const bench_failures *failures) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < failures->n_kept; i++) {
    (void)json_array_append_new(list, json_pack("{s:o, s:o}", "message",
                                                lk_json_text(failures->messages[i]), "count",
                                                lk_json_number(failures->counts[i])));
  }
  return json_pack("{s:o, s:o}", "count", lk_json_number(failures->count), "messages", list);
}

void bench_failures_json(const bench_args *args, const bench_result *result, json_t *object) {
  (void)json_object_set_new(object, "errors", to_json(&result->failed));
  (void)json_object_set_new(object, "mismatches",
                            args->check ? to_json(&result->mismatched) : json_null());
}

static void print(const bench_failures *failures, const char *setting, const char *what) {
  if (failures->count == 0) return;
  report_line("%s%" PRIu64 " request%s %s:", setting, failures->count, report_s(failures->count),
              what);
  uint64_t rest = failures->count;
  for (uint32_t i = 0; i < failures->n_kept; i++) {
    report_line("  %" PRIu64 " x %s", failures->counts[i], failures->messages[i]);
    rest -= failures->counts[i];
  }
  if (rest > 0) report_line("  %" PRIu64 " x other sentences", rest);
}

void bench_failures_print(const bench_args *args, const bench_result *result) {
  char setting[BENCH_SETTING_CAPACITY + 2] = "", text[BENCH_SETTING_CAPACITY];
  if (bench_args_settings(args) > 1) {
    (void)snprintf(setting, sizeof setting, "%s: ", bench_setting_text(&result->setting, text));
  }
  print(&result->failed, setting, "failed");
  print(&result->mismatched, setting, "had another output than alone");
}

lk_status bench_failures_check(const bench_args *args, const bench_result *results, uint32_t count,
                               lk_error *error) {
  for (uint32_t i = 0; i < count; i++) {
    const bench_failures *failed = &results[i].failed, *mismatched = &results[i].mismatched;
    lk_status status = LK_OK;
    if (failed->count > 0) {
      status = lk_fail(error, LK_INTERNAL, "failed to serve %" PRIu64 " request%s, the first: %s",
                       failed->count, report_s(failed->count), failed->messages[0]);
    } else if (mismatched->count > 0) {
      status = lk_fail(error, LK_INTERNAL,
                       "failed to repeat the outputs of %" PRIu64 " request%s, the first: %s",
                       mismatched->count, report_s(mismatched->count), mismatched->messages[0]);
    }
    if (status != LK_OK) return bench_setting_prefix(args, &results[i].setting, status, error);
  }
  return LK_OK;
}
