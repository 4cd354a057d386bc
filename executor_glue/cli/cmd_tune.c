/* latchkey tune: measures what the works of a model take by each engine, for `auto`. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "executor_glue/cli/commands.h"
#include "executor_glue/cli/common/cli.h"
#include "executor_glue/cli/common/inputs.h"
#include "executor_glue/cli/common/interrupt.h"
#include "executor_glue/cli/common/model.h"
#include "executor_glue/cli/common/numbers.h"
#include "executor_glue/cli/common/progress.h"
#include "executor_glue/cli/common/report.h"
#include "executor_glue/cli/tune_report.h"

#define MS_NS UINT64_C(1000000)

typedef struct tune_args {
  cli_args common;
  uint64_t tune_ns; /* for all sizes */
  const char *file;
} tune_args;

enum { KEY_DURATION = 0x700 };

static const struct argp_option options[] = {
    {"duration", KEY_DURATION, "S", 0,
     "Measure for about S seconds, all sizes together (default: 5)", 3},
    {"output", 'o', "FILE", 0,
     "Append to FILE what was measured, or make it; --tuning FILE of the other commands reads it",
     3},
    {0}};

static lk_status check_all(tune_args *args) {
  lk_context_options *context = &args->common.model.context;
  lk_error *error = &args->common.error;
  if (args->common.path == NULL) return LK_OK;
  if (args->file == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read the command line: -o FILE is missing, see --help");
  }
  if (context->engine != NULL && strcmp(context->engine, "auto") != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read --engine: '%s', auto is needed, whose choices are measured",
                   context->engine);
  }
  context->engine = "auto"; /* whatever the environment says */
  return LK_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  tune_args *args = state->input;
  switch (key) {
  case KEY_DURATION:
    return cli_parsed(parse_seconds(arg, "--duration", 0.001, &args->tune_ns, &args->common.error));
  case 'o':
    args->file = arg;
    return 0;
  case ARGP_KEY_END:
    return cli_parsed(check_all(args));
  default:
    return cli_parse_model(key, arg, state);
  }
}

static const struct argp_child children[] = {
    {&model_argp, 0, "Library:", 10}, {&series_argp, 0, "Inputs:", 1}, {0}};
static const char doc[] =
    "Measures what the nodes of a model take by native and by oneDNN, and writes it to a file by "
    "which the engine auto chooses.\v"
    "Both are measured in place, by turns, within runs of the model. The table has what oneDNN "
    "saves most time for first; 'ratio' is its time by that of native. With a range in --shape and "
    "--requests, each size that is drawn has its share of the seconds. A file may have the times "
    "of several models and numbers of threads; keep one for each machine. --engine can only be "
    "auto. SIGINT ends it with nothing written.\n\n"
    "Example:\n"
    "  latchkey tune rec.onnx --shape x=1x3x48x320 --threads 2 -o tuning\n"
    "  latchkey bench rec.onnx --shape x=1x3x48x320 --threads 2 --engine auto --tuning tuning";

static const struct argp command = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL",
    .doc = doc,
    .children = children,
};

/* ---- measuring ------------------------------------------------------------------------------- */

/* Without the module of oneDNN, `auto` is native alone; the library says why there is none. */
static lk_status check_engine(const model_args *args, lk_error *error) {
  cli_model probe = {0};
  model_args with = *args;
  with.context.engine = "onednn";
  with.context.socket = with.context.tuning = "";
  const lk_status status = cli_context_open(&with, &probe, error);
  cli_model_close(&probe);
  return status;
}

/* How far the measuring has come. */
typedef struct tune_watch {
  progress *bar; /* in milliseconds */
  uint64_t begin_ns;
} tune_watch;

static int32_t watch(void *arg) {
  const tune_watch *of = arg;
  progress_set(of->bar, (lk_now_ns() - of->begin_ns) / MS_NS);
  return interrupt_seen();
}

static lk_status measure(const tune_args *args, cli_model *model, input_series *series,
                         progress *bar, tune_report *report, lk_error *error) {
  tune_watch watched = {bar, lk_now_ns()};
  const lk_run_options how = {.struct_size = sizeof how,
                              .should_stop = watch,
                              .should_stop_arg = &watched,
                              .tune_ns = args->tune_ns / input_series_distinct(series) + 1};
  for (uint64_t r = 0; r < args->common.inputs.requests; r++) {
    const lk_named_tensor *inputs = input_series_get(series, r);
    if (!input_series_is_new(series, r)) continue;
    const lk_status status =
        cli_model_run_with(model, inputs, input_series_count(series), &how, error);
    if (status == LK_CANCELLED || (status == LK_OK && interrupt_seen())) {
      return lk_fail(error, LK_CANCELLED, "failed to tune: it was interrupted, '%s' is as it was",
                     args->file);
    }
    LK_RETURN_NOT_OK(status);
    LK_RETURN_NOT_OK(tune_report_add(report, model, inputs, error));
  }
  return LK_OK;
}

static lk_status tune(void *arguments, lk_error *error) {
  const tune_args *args = arguments;
  const cli_args *common = &args->common;
  lk_status status = LK_OK;
  cli_model model = {0};
  input_series *series = NULL;
  tune_report report = {0};
  progress bar;
  progress_begin(&bar, "tuning, ms", args->tune_ns / MS_NS);

  LK_TRY(check_engine(&common->model, error));
  LK_TRY(cli_model_open(&common->model, common->path, &model, error));
  LK_TRY(input_series_create(&model, &common->inputs, &series, error));
  LK_TRY(interrupt_begin(error));
  LK_TRY(measure(args, &model, series, &bar, &report, error));
  const char *file = tune_report_has_times(&report) ? args->file : NULL;
  if (file != NULL) LK_TRY(model.api->tuning_save(model.context, file, &report.works, error));
  progress_end(&bar);
  LK_TRY(common->model.json ? report_json(tune_report_json(&report, common->path, file), error)
                            : tune_report_print(&report, common->path, file, error));

cleanup:
  interrupt_end();
  progress_end(&bar);
  tune_report_destroy(&report);
  input_series_destroy(series);
  cli_model_close(&model);
  return status;
}

int cli_cmd_tune(int argc, char **argv) {
  tune_args args = {.tune_ns = 5 * LK_SECOND_NS};
  return cli_run(&command, argc, argv, &args.common, 1, tune);
}
