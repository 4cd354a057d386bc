/* A setting that is open: sessions of all models in one context, and their requests. */
#include "executor_glue/cli/bench/subject.h"

#include "base/alloc.h"
#include "base/status.h"

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The options for one model. Of several, each is drawn by a seed of its own. Where outputs are
 * compared no two requests have the same values, so that none can have another one's output. */
static input_args inputs_of(const bench_args *args, const bench_setting *setting, uint32_t model,
                            uint64_t requests) {
  input_args inputs = args->common.inputs;
  inputs.batch = setting->batch;
  inputs.requests = requests;
  if (args->models.count > 1) inputs.scope = args->models.items[model].name;
  inputs.own_values = args->models.count > 1 || args->check;
  if (model > 0) inputs.seed = splitmix(inputs.seed + model * SPLITMIX_STEP);
  return inputs;
}

static lk_status check_fits(const bench_args *args, const bench_subject *subject, const char *name,
                            const char *option, lk_error *error) {
  for (uint32_t m = 0; m < subject->n_models; m++) {
    const input_args inputs = inputs_of(args, &subject->setting, m, 1);
    if (input_series_fits(&subject->models[m].session, &inputs, name)) return LK_OK;
  }
  return lk_fail(error, LK_NOT_FOUND,
                 "failed to use %s: no model has an input '%s', 'latchkey inspect' lists them",
                 option, name);
}

/* Of several models, each shape and each file must be for one at least. */
static lk_status check_all_fit(const bench_args *args, const bench_subject *subject,
                               lk_error *error) {
  const input_args *inputs = &args->common.inputs;
  if (subject->n_models == 1) return LK_OK;
  for (uint32_t i = 0; i < shape_set_count(inputs->shapes); i++) {
    const char *name = shape_set_name(inputs->shapes, i);
    LK_RETURN_NOT_OK(check_fits(args, subject, name, "--shape", error));
  }
  for (size_t i = 0; i < inputs->n_files; i++) {
    LK_RETURN_NOT_OK(check_fits(args, subject, inputs->files[i].name, "--input", error));
  }
  return LK_OK;
}

/* One that draws no request by chance has inputs all the same, so that they are looked at. */
static lk_status make_inputs(const bench_args *args, bench_subject *subject, uint32_t index,
                             lk_error *error) {
  bench_model *model = &subject->models[index];
  if (model->arg->weight == 0) return LK_OK;
  const uint64_t requests = model->requests > 0 ? model->requests : 1;
  const input_args inputs = inputs_of(args, &subject->setting, index, requests);
  LK_RETURN_NOT_OK(input_series_create(&model->session, &inputs, &model->series, error));
  return input_series_rows(model->series, &model->rows, error);
}

/* ---- life ------------------------------------------------------------------------------------ */

static lk_status draw_requests(const bench_args *args, bench_subject *subject, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  const bench_models_arg *models = &args->models;
  const uint64_t count = args->common.inputs.requests;
  uint64_t *n_of = lk_calloc(allocator, models->count, sizeof *n_of);
  subject->models = lk_calloc(allocator, models->count, sizeof *subject->models);
  subject->requests = lk_calloc(allocator, count, sizeof *subject->requests);
  if (n_of == NULL || subject->models == NULL || subject->requests == NULL) {
    lk_free(allocator, n_of);
    return lk_fail_memory(error, "requests", count * sizeof *subject->requests);
  }
  subject->n_models = (uint32_t)models->count;
  subject->n_requests = count;
  bench_mix_draw(models, args->common.inputs.seed, subject->requests, count, n_of);
  for (uint32_t m = 0; m < subject->n_models; m++) {
    subject->models[m] = (bench_model){.arg = &models->items[m], .requests = n_of[m]};
  }
  lk_free(allocator, n_of);
  return LK_OK;
}

lk_status bench_subject_open(const bench_args *args, const bench_setting *setting,
                             bench_subject *out, lk_error *error) {
  const model_args options = bench_setting_options(args, setting);
  *out = (bench_subject){.setting = *setting};
  LK_RETURN_NOT_OK(cli_context_open(&options, &out->root, error));
  LK_RETURN_NOT_OK(draw_requests(args, out, error));
  for (uint32_t m = 0; m < out->n_models; m++) {
    bench_model *model = &out->models[m];
    model->session = out->root;
    lk_status status = cli_session_open(&options, model->arg->path, &model->session, error);
    LK_RETURN_NOT_OK(bench_model_prefix(out, m, status, error));
  }
  LK_RETURN_NOT_OK(check_all_fit(args, out, error));
  for (uint32_t m = 0; m < out->n_models; m++) {
    lk_status status = make_inputs(args, out, m, error);
    LK_RETURN_NOT_OK(bench_model_prefix(out, m, status, error));
  }
  return LK_OK;
}

static void forget_expected(bench_model *model) {
  const lk_allocator *allocator = lk_allocator_default();
  const size_t count = model->expected != NULL ? model->requests * model->session.n_outputs : 0;
  for (size_t i = 0; i < count; i++) lk_free(allocator, model->expected[i].data);
  lk_free(allocator, model->expected);
}

void bench_subject_close(bench_subject *subject) {
  const lk_allocator *allocator = lk_allocator_default();
  for (uint32_t m = 0; m < subject->n_models; m++) {
    bench_model *model = &subject->models[m];
    forget_expected(model);
    lk_free(allocator, model->rows);
    input_series_destroy(model->series);
    cli_session_close(&model->session);
  }
  lk_free(allocator, subject->models);
  lk_free(allocator, subject->requests);
  cli_model_close(&subject->root);
  *subject = (bench_subject){0};
}

/* ---- what others ask ------------------------------------------------------------------------- */

const lk_named_tensor *bench_subject_inputs(const bench_subject *subject, uint64_t request,
                                            uint32_t *out_count) {
  const bench_request *one = &subject->requests[request];
  const bench_model *model = &subject->models[one->model];
  *out_count = input_series_count(model->series);
  return model->rows + (size_t)one->index * *out_count;
}

bool bench_subject_is_new(const bench_subject *subject, uint64_t request) {
  const bench_request *one = &subject->requests[request];
  return input_series_is_new(subject->models[one->model].series, one->index);
}

uint64_t bench_model_distinct(const bench_model *model) {
  return model->requests > 0 ? input_series_distinct(model->series) : 0;
}

uint64_t bench_subject_distinct(const bench_subject *subject) {
  uint64_t count = 0;
  for (uint32_t m = 0; m < subject->n_models; m++) {
    count += bench_model_distinct(&subject->models[m]);
  }
  return count;
}

lk_status bench_model_prefix(const bench_subject *subject, uint32_t model, lk_status status,
                             lk_error *error) {
  if (status == LK_OK || subject->n_models == 1) return status;
  return lk_error_prefix(error, status, "%s", subject->models[model].arg->name);
}
