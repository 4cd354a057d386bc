/* What each request gives when it runs alone, for --check. */
#include "executor_glue/cli/bench/alone.h"

#include <malloc.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

static lk_status copy_tensor(const lk_named_tensor *from, lk_tensor *out, lk_error *error) {
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(&from->tensor.desc, from->name, NULL, &bytes, error));
  *out = (lk_tensor){from->tensor.desc, lk_alloc(lk_allocator_default(), (size_t)bytes)};
  if (out->data == NULL) return lk_fail_memory(error, from->name, (size_t)bytes);
  if (bytes > 0) memcpy(out->data, from->tensor.data, (size_t)bytes);
  return LK_OK;
}

static lk_status run_model(bench_model *model, cli_model *session, lk_error *error) {
  const uint32_t n_outputs = session->n_outputs, n_inputs = input_series_count(model->series);
  const size_t count = model->requests * n_outputs;
  model->expected = lk_calloc(lk_allocator_default(), count, sizeof *model->expected);
  if (model->expected == NULL) {
    return lk_fail_memory(error, "outputs", count * sizeof *model->expected);
  }
  for (uint64_t r = 0; r < model->requests; r++) {
    lk_tensor *outputs = model->expected + r * n_outputs;
    LK_RETURN_NOT_OK(cli_model_run(session, model->rows + r * n_inputs, n_inputs, error));
    for (uint32_t i = 0; i < n_outputs; i++) {
      LK_RETURN_NOT_OK(copy_tensor(&session->outputs[i], &outputs[i], error));
    }
  }
  return LK_OK;
}

static lk_status open_and_run(const model_args *options, bench_model *model, cli_model *alone,
                              lk_error *error) {
  LK_RETURN_NOT_OK(cli_session_open(options, model->arg->path, alone, error));
  LK_RETURN_NOT_OK(run_model(model, alone, error));
  cli_session_close(alone);
  return LK_OK;
}

/* The context is destroyed afterwards: what outputs are compared with must not come from the
 * objects under test, and the cache of those must start as empty as without --check. */
lk_status bench_alone_run(const bench_args *args, bench_subject *subject, lk_error *error) {
  lk_status status = LK_OK;
  cli_model alone = {0};
  model_args options = bench_setting_options(args, &subject->setting);
  options.trace = NULL;

  LK_TRY(cli_context_open(&options, &alone, error));
  for (uint32_t m = 0; m < subject->n_models; m++) {
    bench_model *model = &subject->models[m];
    if (model->requests == 0) continue;
    status = open_and_run(&options, model, &alone, error);
    LK_TRY(bench_model_prefix(subject, m, status, error));
  }

cleanup:
  cli_model_close(&alone);
  (void)malloc_trim(0); /* what it freed would count as memory of the passes */
  return status;
}

/* Tensors of equal bytes are equal. Others are compared number by number. */
static lk_status compare(const lk_named_tensor *got, const lk_tensor *expected, tolerance within,
                         lk_error *error) {
  if (lk_tensor_desc_same(&got->tensor.desc, &expected->desc)) {
    size_t bytes = (size_t)lk_elements(&expected->desc) * lk_dtype_size(expected->desc.dtype);
    if (bytes == 0 || memcmp(got->tensor.data, expected->data, bytes) == 0) return LK_OK;
  }
  return compare_tensors(&got->tensor, expected, within, got->name, error);
}

lk_status bench_alone_check(const bench_subject *subject, uint64_t request, const cli_model *lane,
                            tolerance within, lk_error *error) {
  const bench_request *one = &subject->requests[request];
  const lk_tensor *expected = subject->models[one->model].expected;
  if (expected == NULL) return LK_OK;
  expected += (size_t)one->index * lane->n_outputs;
  for (uint32_t i = 0; i < lane->n_outputs; i++) {
    lk_status status = compare(&lane->outputs[i], &expected[i], within, error);
    if (status != LK_OK) return bench_model_prefix(subject, one->model, status, error);
  }
  return LK_OK;
}
