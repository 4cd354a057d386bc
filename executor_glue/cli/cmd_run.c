/* latchkey run: a model on .npy files. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/npy.h"
#include "executor_glue/cli/common/options.h"
#include "executor_glue/cli/common/progress.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/output_name.h"

typedef struct run_args {
  cli_args common;
  const char *folder;
} run_args;

static const struct argp_option options[] = {
    {"input", 'i', "NAME=FILE", 0, "Read an input from a .npy file; once for each input", 1},
    {"output", 'o', "DIR", 0, "Write each output to DIR/NAME.npy; DIR is made if it is not there",
     1},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  run_args *args = state->input;
  lk_error *error = &args->common.error;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &args->common.model;
    return 0;
  case 'i':
    return cli_parsed(input_args_add_file(&args->common.inputs, arg));
  case 'o':
    args->folder = arg;
    return 0;
  case ARGP_KEY_END:
    if (args->common.path == NULL || args->folder != NULL) return 0;
    return cli_parsed(lk_fail(error, LK_INVALID_ARGUMENT,
                              "failed to read the command line: -o DIR is missing, see --help"));
  default:
    return cli_parse_model(key, arg, state);
  }
}

static const struct argp_child children[] = {{&traced_model_argp, 0, "Library:", 10}, {0}};
static const char doc[] =
    "Runs an ONNX model once and writes its outputs.\v"
    "An output is written to DIR/NAME.npy. In the file name, every character of NAME but letters, "
    "digits, '.', '_' and '-' becomes '_', and so does a '.' in front. When two outputs would "
    "share a file, the later one gets '-2', '-3' and so on. The files appear when all are "
    "complete: a run that fails leaves none.\n\n"
    "Example:\n"
    "  latchkey run model.onnx -i x=image.npy -o out";

static const struct argp command = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL",
    .doc = doc,
    .children = children,
};

static lk_status read_inputs(const input_args *args, lk_named_tensor *inputs, lk_error *error) {
  for (size_t i = 0; i < args->n_files; i++) {
    const input_file *file = &args->files[i];
    inputs[i].name = file->name;
    LK_RETURN_NOT_OK(npy_read(lk_allocator_default(), file->path, &inputs[i].tensor, error));
  }
  return LK_OK;
}

static lk_status make_folder(const char *folder, lk_error *error) {
  struct stat info;
  if (mkdir(folder, 0777) == 0) return LK_OK;
  int reason = errno;
  if (stat(folder, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return LK_OK;
    reason = ENOTDIR;
  }
  return lk_fail(error, LK_IO, "failed to create folder '%s': %s", folder, strerror(reason));
}

/* All files are complete before the first gets its name. When a later one cannot have its name,
 * since a folder has it, those that are there already are removed: a run leaves all its outputs or
 * none. */
static lk_status write_outputs(const cli_model *model, const char *folder, char **names,
                               lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = lk_allocator_default();
  uint32_t named = 0;
  lk_whole_file *files = lk_calloc(allocator, model->n_outputs, sizeof *files);
  if (files == NULL) return lk_fail_memory(error, "outputs", model->n_outputs * sizeof *files);
  LK_TRY(make_folder(folder, error));
  for (uint32_t i = 0; i < model->n_outputs; i++) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s.npy", folder, names[i]);
    if (length < 0 || (size_t)length >= sizeof path) {
      LK_TRY(lk_fail(error, LK_OUT_OF_RANGE, "failed to write into '%s': the path is too long",
                     folder));
    }
    LK_TRY(npy_prepare(allocator, path, &model->outputs[i].tensor, &files[i], error));
  }
  for (; named < model->n_outputs; named++) LK_TRY(lk_whole_file_commit(&files[named], error));

cleanup:
  for (uint32_t i = 0; i < model->n_outputs; i++) {
    if (status != LK_OK && i < named) lk_whole_file_take_back(&files[i]);
    lk_whole_file_discard(&files[i]);
  }
  lk_free(allocator, files);
  return status;
}

static lk_status report(const run_args *args, const cli_model *model, char **names,
                        uint64_t elapsed_ns, lk_error *error) {
  const bool json = args->common.model.json;
  json_t *list = json ? json_array() : NULL;
  for (uint32_t i = 0; i < model->n_outputs; i++) {
    const lk_named_tensor *output = &model->outputs[i];
    char text[LK_TENSOR_TEXT_CAPACITY];
    if (!json) {
      report_line("%s %s -> %s/%s.npy", output->name, lk_tensor_text(&output->tensor.desc, text),
                  args->folder, names[i]);
      continue;
    }
    json_t *shape = json_array();
    for (uint32_t d = 0; d < output->tensor.desc.rank; d++) {
      (void)json_array_append_new(shape, json_integer(output->tensor.desc.dims[d]));
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.npy", args->folder, names[i]);
    (void)json_array_append_new(list, json_pack("{s:o, s:s, s:o, s:o}", "name",
                                                lk_json_text(output->name), "type",
                                                lk_dtype_name(output->tensor.desc.dtype), "shape",
                                                shape, "file", lk_json_text(path)));
  }
  if (!json) return LK_OK;
  return report_json(json_pack("{s:o, s:f}", "outputs", list, "ms", (double)elapsed_ns / 1e6),
                     error);
}

static lk_status run(void *arguments, lk_error *error) {
  const run_args *args = arguments;
  const cli_args *common = &args->common;
  lk_status status = LK_OK;
  const lk_allocator *allocator = lk_allocator_default();
  size_t n_inputs = common->inputs.n_files;
  cli_model model = {0};
  char **names = NULL;
  progress bar;
  lk_named_tensor *inputs = lk_calloc(allocator, n_inputs, sizeof *inputs);
  progress_begin(&bar, "running", 0);

  if (inputs == NULL) LK_TRY(lk_fail_memory(error, "inputs", n_inputs * sizeof *inputs));
  LK_TRY(read_inputs(&common->inputs, inputs, error));
  LK_TRY(cli_model_open(&common->model, common->path, &model, error));
  uint64_t begin = lk_now_ns();
  LK_TRY(cli_model_run(&model, inputs, (uint32_t)n_inputs, error));
  uint64_t elapsed = lk_now_ns() - begin;
  LK_TRY(output_names_create(allocator, model.outputs, model.n_outputs, &names, error));
  LK_TRY(cli_trace_save(&common->model, &model, error)); /* before there are outputs */
  LK_TRY(write_outputs(&model, args->folder, names, error));
  progress_end(&bar);
  LK_TRY(report(args, &model, names, elapsed, error));

cleanup:
  progress_end(&bar);
  output_names_destroy(allocator, names, model.n_outputs);
  cli_model_close(&model);
  for (size_t i = 0; inputs != NULL && i < n_inputs; i++) {
    lk_free(allocator, inputs[i].tensor.data);
  }
  lk_free(allocator, inputs);
  return status;
}

int cli_cmd_run(int argc, char **argv) {
  run_args args = {0};
  return cli_run(&command, argc, argv, &args.common, 1, run);
}
