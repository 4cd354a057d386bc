/* Whether engines compute the same: a fast wrong number is no result. */
#include "executor_glue/cli/bench/outputs.h"

#include "base/status.h"

/* The first request of a model, if it gets any. */
static lk_status run_first(bench_subject *subject, uint32_t index, lk_error *error) {
  bench_model *model = &subject->models[index];
  if (model->series == NULL) return LK_OK;
  lk_status status =
      cli_model_run(&model->session, model->rows, input_series_count(model->series), error);
  return bench_model_prefix(subject, index, status, error);
}

static lk_status compare(const bench_subject *subject, const bench_subject *expected,
                         uint32_t index, tolerance within, lk_error *error) {
  const cli_model *its = &subject->models[index].session;
  const cli_model *first = &expected->models[index].session;
  lk_status status = LK_OK;
  for (uint32_t i = 0; i < its->n_outputs && status == LK_OK; i++) {
    status = compare_tensors(&its->outputs[i].tensor, &first->outputs[i].tensor, within,
                             its->outputs[i].name, error);
  }
  return bench_model_prefix(subject, index, status, error);
}

/* One model of all engines: those of the first, then each beside them. */
static lk_status compare_model(const bench_args *args, bench_subject *subjects, uint32_t count,
                               uint32_t index, bench_result *results, lk_error *error) {
  lk_status status = LK_OK;
  for (uint32_t i = 0; i < count; i++) {
    status = run_first(&subjects[i], index, error);
    LK_TRY(bench_setting_prefix(args, &subjects[i].setting, status, error));
    if (results[i].difference.status != LK_OK) continue;
    (void)compare(&subjects[i], &subjects[0], index, args->within, &results[i].difference);
  }

cleanup:
  for (uint32_t i = 0; i < count; i++) {
    cli_model_release_outputs(&subjects[i].models[index].session);
  }
  return status;
}

lk_status bench_outputs_compare(const bench_args *args, bench_subject *subjects, uint32_t count,
                                bench_result *results, lk_error *error) {
  for (uint32_t m = 0; m < subjects[0].n_models; m++) {
    LK_RETURN_NOT_OK(compare_model(args, subjects, count, m, results, error));
  }
  return LK_OK;
}
