/* Whether engines compute the same: a fast wrong number is no result. */
#include "executor_glue/cli/bench/outputs.h"

#include "base/status.h"

static lk_status run_first(bench_subject *subject, lk_error *error) {
  return cli_model_run(&subject->model, subject->rows, input_series_count(subject->series), error);
}

static lk_status compare(const cli_model *model, const cli_model *expected, tolerance within,
                         lk_error *error) {
  for (uint32_t i = 0; i < model->n_outputs; i++) {
    LK_RETURN_NOT_OK(compare_tensors(&model->outputs[i].tensor, &expected->outputs[i].tensor,
                                     within, model->outputs[i].name, error));
  }
  return LK_OK;
}

lk_status bench_outputs_compare(const bench_args *args, bench_subject *subjects, uint32_t count,
                                bench_result *results, lk_error *error) {
  lk_status status = LK_OK;
  for (uint32_t i = 0; i < count; i++) {
    status = run_first(&subjects[i], error);
    LK_TRY(bench_setting_prefix(args, &subjects[i].setting, status, error));
    (void)compare(&subjects[i].model, &subjects[0].model, args->within, &results[i].difference);
  }

cleanup:
  for (uint32_t i = 0; i < count; i++) cli_model_release_outputs(&subjects[i].model);
  return status;
}
