/* The models under load: sessions in one context, prepared requests, and what they should give. */
#include "executor_glue/cli/load/models.h"

#include <malloc.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

/* ---- sessions -------------------------------------------------------------------------------- */

static lk_status open_sessions(load_models *models, lk_error *error) {
  const load_args *args = models->args;
  for (uint32_t m = 0; m < models->count; m++) {
    load_model *model = &models->items[m];
    model->args = &args->models[m];
    model->first = models->root;
    LK_RETURN_NOT_OK(
        cli_session_open(&args->common.model, model->args->path, &model->first, error));
  }
  for (uint32_t t = 0; t < models->n_threads; t++) {
    for (uint32_t m = 0; m < models->count; m++) {
      const load_model *model = &models->items[m];
      cli_model *lane = &models->lanes[t * models->count + m];
      if (model->args->weight == 0) continue;
      LK_RETURN_NOT_OK(cli_session_share(&model->first, args->clones && t > 0, lane, error));
    }
  }
  return LK_OK;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The options for one model. */
static input_args inputs_of(const load_args *args, uint32_t model) {
  input_args inputs = args->common.inputs;
  inputs.scope = args->models[model].name;
  inputs.own_values = true;
  inputs.seed = splitmix(args->common.inputs.seed + model * SPLITMIX_STEP);
  return inputs;
}

static lk_status check_fits(const load_models *models, const char *name, const char *option,
                            lk_error *error) {
  for (uint32_t m = 0; m < models->count; m++) {
    input_args inputs = inputs_of(models->args, m);
    if (input_series_fits(&models->items[m].first, &inputs, name)) return LK_OK;
  }
  return lk_fail(error, LK_NOT_FOUND,
                 "failed to use %s: no model has an input '%s', 'latchkey inspect' lists them",
                 option, name);
}

/* Every shape and every file must be for some model. */
static lk_status check_all_fit(const load_models *models, lk_error *error) {
  const input_args *inputs = &models->args->common.inputs;
  for (uint32_t i = 0; i < shape_set_count(inputs->shapes); i++) {
    LK_RETURN_NOT_OK(check_fits(models, shape_set_name(inputs->shapes, i), "--shape", error));
  }
  for (size_t i = 0; i < inputs->n_files; i++) {
    LK_RETURN_NOT_OK(check_fits(models, inputs->files[i].name, "--input", error));
  }
  return LK_OK;
}

static lk_status prepare(load_models *models, uint32_t index, lk_error *error) {
  load_model *model = &models->items[index];
  input_args inputs = inputs_of(models->args, index);
  lk_status status = input_series_create(&model->first, &inputs, &model->series, error);
  if (status != LK_OK) return lk_error_prefix(error, status, "%s", model->args->name);
  model->n_inputs = input_series_count(model->series);
  return input_series_rows(model->series, &model->requests, error);
}

/* ---- what the outputs should be -------------------------------------------------------------- */

static lk_status copy_tensor(const lk_named_tensor *from, lk_tensor *out, lk_error *error) {
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(&from->tensor.desc, from->name, NULL, &bytes, error));
  *out = (lk_tensor){from->tensor.desc, lk_alloc(lk_allocator_default(), (size_t)bytes)};
  if (out->data == NULL) return lk_fail_memory(error, from->name, (size_t)bytes);
  if (bytes > 0) memcpy(out->data, from->tensor.data, (size_t)bytes);
  return LK_OK;
}

static lk_status run_alone(const load_models *models, load_model *model, cli_model *session,
                           lk_error *error) {
  uint32_t n_outputs = session->n_outputs;
  model->expected = lk_calloc(lk_allocator_default(), models->pool * n_outputs, sizeof(lk_tensor));
  if (model->expected == NULL) {
    return lk_fail_memory(error, "outputs", models->pool * n_outputs * sizeof(lk_tensor));
  }
  for (uint64_t r = 0; r < models->pool; r++) {
    const lk_named_tensor *inputs = model->requests + r * model->n_inputs;
    lk_status status = cli_model_run(session, inputs, model->n_inputs, error);
    if (status != LK_OK) return lk_error_prefix(error, status, "%s", model->args->name);
    for (uint32_t i = 0; i < n_outputs; i++) {
      LK_RETURN_NOT_OK(
          copy_tensor(&session->outputs[i], &model->expected[r * n_outputs + i], error));
    }
  }
  return LK_OK;
}

/* In a context that is destroyed afterwards: what outputs are compared with must not come from the
 * objects under test, and the cache of those must start as empty as without --check. */
static lk_status run_all_alone(load_models *models, lk_error *error) {
  lk_status status = LK_OK;
  const load_args *args = models->args;
  cli_model alone = {0};
  model_args how = args->common.model;
  how.trace = NULL;

  LK_TRY(cli_context_open(&how, &alone, error));
  for (uint32_t m = 0; m < models->count; m++) {
    load_model *model = &models->items[m];
    if (model->args->weight == 0) continue;
    LK_TRY(cli_session_open(&how, model->args->path, &alone, error));
    LK_TRY(run_alone(models, model, &alone, error));
    cli_session_close(&alone);
  }

cleanup:
  cli_model_close(&alone);
  (void)malloc_trim(0); /* what it freed would count as memory of the load */
  return status;
}

/* ---- life ------------------------------------------------------------------------------------ */

lk_status load_models_create(const load_args *args, load_models *out, lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  *out = (load_models){
      .args = args, .n_threads = (uint32_t)args->threads, .pool = args->common.inputs.requests};
  LK_RETURN_NOT_OK(cli_context_open(&args->common.model, &out->root, error));
  out->items = lk_calloc(allocator, args->n_models, sizeof *out->items);
  out->lanes = lk_calloc(allocator, args->n_models * args->threads, sizeof *out->lanes);
  if (out->items == NULL || out->lanes == NULL) {
    return lk_fail_memory(error, "models", args->n_models * args->threads * sizeof *out->lanes);
  }
  out->count = (uint32_t)args->n_models;
  LK_RETURN_NOT_OK(open_sessions(out, error));
  LK_RETURN_NOT_OK(check_all_fit(out, error));
  for (uint32_t m = 0; m < out->count; m++) {
    if (args->models[m].weight > 0) LK_RETURN_NOT_OK(prepare(out, m, error));
  }
  return args->check ? run_all_alone(out, error) : LK_OK;
}

static void destroy_model(const load_models *models, load_model *model) {
  const lk_allocator *allocator = lk_allocator_default();
  if (model->expected != NULL) {
    uint64_t count = models->pool * model->first.n_outputs;
    for (uint64_t i = 0; i < count; i++) lk_free(allocator, model->expected[i].data);
  }
  lk_free(allocator, model->expected);
  lk_free(allocator, model->requests);
  input_series_destroy(model->series);
  cli_session_close(&model->first);
}

void load_models_destroy(load_models *models) {
  const lk_allocator *allocator = lk_allocator_default();
  /* Before the sessions that they borrow. */
  for (uint32_t i = 0; i < models->n_threads * models->count; i++) {
    cli_session_close(&models->lanes[i]);
  }
  for (uint32_t m = 0; m < models->count; m++) destroy_model(models, &models->items[m]);
  lk_free(allocator, models->lanes);
  lk_free(allocator, models->items);
  cli_model_close(&models->root);
}
