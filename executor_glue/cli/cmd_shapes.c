/* latchkey shapes: the shapes of a series of requests, as the other commands draw them. */
#include <stdio.h>

#include "base/status.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/inputs.h"
#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/options.h"
#include "executor_glue/cli/common/progress.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/common/shape_text.h"

static const struct argp_child children[] = {
    {&model_argp, 0, "Library:", 10}, {&series_argp, 0, "Inputs:", 1}, {0}};
static const char doc[] =
    "Shows the shapes of a series of requests, as bench and cache draw them by the same options.\v"
    "Prints a line for each request. Nothing is run.\n\n"
    "Example:\n"
    "  latchkey shapes rec.onnx --shape 'x=1x3x48x{32..320}' --requests 5";

static const struct argp command = {
    .parser = cli_parse_model,
    .args_doc = "MODEL",
    .doc = doc,
    .children = children,
};

static json_t *request_json(const lk_named_tensor *inputs, uint32_t count) {
  json_t *request = json_object();
  for (uint32_t i = 0; i < count; i++) {
    const lk_tensor_desc *desc = &inputs[i].tensor.desc;
    json_t *shape = json_array();
    for (uint32_t d = 0; d < desc->rank; d++) {
      (void)json_array_append_new(shape, json_integer(desc->dims[d]));
    }
    report_json_set(request, inputs[i].name, shape);
  }
  return request;
}

static lk_status show_shapes(void *arguments, lk_error *error) {
  const cli_args *args = arguments;
  lk_status status = LK_OK;
  cli_model model = {0};
  input_series *series = NULL;
  json_t *requests = NULL;
  progress bar;
  progress_begin(&bar, "opening", 0);

  LK_TRY(cli_model_open(&args->model, args->path, &model, error));
  LK_TRY(input_series_create(&model, &args->inputs, &series, error));
  progress_end(&bar);
  const uint32_t count = input_series_count(series);
  if (args->model.json) requests = json_array();
  for (uint64_t r = 0; r < args->inputs.requests; r++) {
    const lk_named_tensor *inputs = input_series_get(series, r);
    if (args->model.json) {
      (void)json_array_append_new(requests, request_json(inputs, count));
    } else {
      LK_TRY(shape_text_write(inputs, count, stdout, error));
      (void)putchar('\n');
    }
  }
  if (args->model.json) {
    LK_TRY(report_json(
        json_pack("{s:o, s:o}", "seed", lk_json_number(args->inputs.seed), "requests", requests),
        error));
  }

cleanup:
  progress_end(&bar);
  input_series_destroy(series);
  cli_model_close(&model);
  return status;
}

int cli_cmd_shapes(int argc, char **argv) {
  cli_args args = {0};
  return cli_run(&command, argc, argv, &args, 1, show_shapes);
}
