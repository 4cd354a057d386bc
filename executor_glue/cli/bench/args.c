/* The command line of `latchkey bench`. */
#include "executor_glue/cli/bench/args.h"

#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"
#include "executor_glue/cli/common/numbers.h"

enum {
  KEY_PROFILE = 0x600,
  KEY_ENGINE,
  KEY_RTOL,
  KEY_ATOL,
  KEY_CALLERS,
  KEY_BATCH,
  KEY_WARMUP,
  KEY_DURATION,
  KEY_LATENCIES,
  KEY_MIX,
  KEY_CLONES,
  KEY_CHECK,
  KEY_RATE,
  MOST_REQUESTS = 1000000000
};
#define MOST_RATE 1e9

static const struct argp_option options[] = {
    {"mix", KEY_MIX, "A:3,B:1", 0,
     "Weigh models by name: so many of the requests are for each; 0 is none (default: 1)", 2},
    {"warmup", KEY_WARMUP, "N|Ss", 0,
     "Run N requests, or for S seconds as in 2s or 0.5s, before anything is measured (default: 0)",
     3},
    {"duration", KEY_DURATION, "S", 0,
     "Measure for S seconds, pass after pass over the requests, instead of two passes", 3},
    {"rate", KEY_RATE, "R", 0,
     "Send R requests per second in all, at equal distances. Latency then counts from when a "
     "request was due, so it includes the wait for a free caller (default: each caller sends as "
     "fast as it can)",
     3},
    {"latencies", KEY_LATENCIES, "FILE", 0,
     "Write what was measured of each request into FILE.csv, or into FILE.json with all of the "
     "report, for bench-compare and bench-plot",
     3},
    {"profile", KEY_PROFILE, NULL, 0,
     "Run all requests once more and show what each operator took, by the most expensive, beside "
     "what this machine can do",
     3},
    {"engine", KEY_ENGINE, "NAME,...", 0,
     CLI_ENGINE_HELP ". Several are measured by turns, and shown beside the first one", 4},
    {"check", KEY_CHECK, NULL, 0,
     "Run every request alone first, in a context of its own, and compare all outputs with those",
     4},
    {"rtol", KEY_RTOL, "X", 0,
     "Allow floats that are compared a relative difference of X (default: 1e-3)", 4},
    {"atol", KEY_ATOL, "X", 0,
     "Allow floats that are compared an absolute difference of X (default: 1e-5)", 4},
    {"callers", KEY_CALLERS, "N,...", 0,
     "Send requests from N threads at once, each its next when the last is answered; several "
     "numbers "
     "are measured one after the other, and shown in a table (default: 1)",
     4},
    {"clones", KEY_CLONES, NULL, 0,
     "Clone the sessions for each caller (default: all callers share them)", 4},
    {"batch", KEY_BATCH, "N,...", 0,
     "Set the first dimension of the first input to N, and that of each input where it has the "
     "same name; several as with --callers",
     4},
    {"threads", 't', "N,...", 0,
     "Let an operator use at most N threads; several as with --callers (default: the CPUs allowed)",
     4},
    {0}};

/* ---- lists ----------------------------------------------------------------------------------- */

/* Whether a list of `count` values takes one more, which stands there as `text`. */
static lk_status check_item(const char *text, const char *option, bool is_given, uint32_t count,
                            lk_error *error) {
  if (is_given) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read %s: '%s' is given twice, once is needed", option, text);
  }
  if (count == BENCH_MOST_VALUES) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read %s: '%s' is number %d of the list, %d are allowed", option, text,
                   BENCH_MOST_VALUES + 1, BENCH_MOST_VALUES);
  }
  return LK_OK;
}

static lk_status add_value(const char *text, const char *option, uint64_t max, bench_list *list,
                           lk_error *error) {
  uint64_t value = 0;
  LK_RETURN_NOT_OK(parse_u64(text, option, 1, max, &value, error));
  bool is_given = false;
  for (uint32_t i = 0; i < list->count; i++) is_given = is_given || list->values[i] == value;
  LK_RETURN_NOT_OK(check_item(text, option, is_given, list->count, error));
  list->values[list->count++] = value;
  return LK_OK;
}

static lk_status parse_list(const char *text, const char *option, uint64_t max, bench_list *out,
                            lk_error *error) {
  lk_status status = LK_OK;
  char *copy = lk_strdup(lk_allocator_default(), text);
  if (copy == NULL) return lk_fail_memory(error, "options", strlen(text));
  *out = (bench_list){0};
  char *rest = copy;
  for (char *item = strsep(&rest, ","); item != NULL; item = strsep(&rest, ",")) {
    LK_TRY(add_value(item, option, max, out, error));
  }

cleanup:
  lk_free(lk_allocator_default(), copy);
  return status;
}

/* ---- engines --------------------------------------------------------------------------------- */

/* What the library knows no engine by is refused when the context is made. */
static lk_status add_engine(const char *name, bench_engines *list, lk_error *error) {
  if (name[0] == '\0') {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read --engine: '' is number %u of the list, a name is needed",
                   list->count + 1);
  }
  bool is_given = false;
  for (uint32_t i = 0; i < list->count; i++) {
    is_given = is_given || strcmp(list->names[i], name) == 0;
  }
  LK_RETURN_NOT_OK(check_item(name, "--engine", is_given, list->count, error));
  list->names[list->count++] = name;
  return LK_OK;
}

static lk_status parse_engines(const char *text, bench_args *args) {
  bench_engines *list = &args->engines;
  lk_error *error = &args->common.error;
  lk_free(lk_allocator_default(), list->text);
  *list = (bench_engines){.text = lk_strdup(lk_allocator_default(), text)};
  if (list->text == NULL) return lk_fail_memory(error, "options", strlen(text));
  char *rest = list->text;
  for (char *item = strsep(&rest, ","); item != NULL; item = strsep(&rest, ",")) {
    LK_RETURN_NOT_OK(add_engine(item, list, error));
  }
  args->common.model.context.engine = list->names[0];
  return LK_OK;
}

/* ---- the others ------------------------------------------------------------------------------ */

static lk_status parse_warmup(const char *text, bench_args *args) {
  lk_error *error = &args->common.error;
  const size_t length = strlen(text);
  args->warmup_requests = 0;
  args->warmup_ns = 0;
  if (length < 2 || text[length - 1] != 's') {
    return parse_u64(text, "--warmup", 0, MOST_REQUESTS, &args->warmup_requests, error);
  }
  char *seconds = lk_strndup(lk_allocator_default(), text, length - 1);
  if (seconds == NULL) return lk_fail_memory(error, "options", length);
  lk_status status = parse_seconds(seconds, "--warmup", 0.0, &args->warmup_ns, error);
  lk_free(lk_allocator_default(), seconds);
  return status;
}

bool bench_file_is(const char *path, const char *suffix) {
  const size_t length = strlen(path), n_suffix = strlen(suffix);
  return length > n_suffix && strcmp(path + length - n_suffix, suffix) == 0;
}

static lk_status parse_latencies(const char *path, bench_args *args) {
  if (!bench_file_is(path, ".csv") && !bench_file_is(path, ".json")) {
    return lk_fail(&args->common.error, LK_INVALID_ARGUMENT,
                   "failed to read --latencies: '%s', FILE.csv or FILE.json is needed", path);
  }
  args->latencies = path;
  return LK_OK;
}

/* What is of one model alone. */
static lk_status check_models(bench_args *args) {
  const bool batched = args->batches.values[0] > 0;
  if (args->models.count == 1 || (!batched && !args->profile)) return LK_OK;
  return lk_fail(&args->common.error, LK_INVALID_ARGUMENT,
                 "failed to read %s: %zu models are given, one is needed",
                 batched ? "--batch" : "--profile", args->models.count);
}

static lk_status check_all(bench_args *args) {
  const bool traces = args->common.model.trace != NULL;
  if (args->models.count == 0) return LK_OK; /* which is told by cli_parse_model */
  LK_RETURN_NOT_OK(bench_models_end(&args->models, &args->common.error));
  LK_RETURN_NOT_OK(check_models(args));
  if ((!args->profile && !traces) || bench_args_settings(args) == 1) return LK_OK;
  return lk_fail(&args->common.error, LK_INVALID_ARGUMENT,
                 "failed to read %s: %u settings are to be measured, one value for "
                 "--engine, --threads, --callers and --batch is needed",
                 args->profile ? "--profile" : "--trace", bench_args_settings(args));
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  bench_args *args = state->input;
  lk_error *error = &args->common.error;
  switch (key) {
  case KEY_ENGINE:
    return cli_parsed(parse_engines(arg, args));
  case KEY_RTOL:
    return cli_parsed(parse_tolerance(arg, "--rtol", &args->within.relative, error));
  case KEY_ATOL:
    return cli_parsed(parse_tolerance(arg, "--atol", &args->within.absolute, error));
  case 't':
    return cli_parsed(parse_list(arg, "--threads", LK_MAX_THREADS, &args->threads, error));
  case KEY_CALLERS:
    return cli_parsed(parse_list(arg, "--callers", LK_MAX_THREADS, &args->callers, error));
  case KEY_BATCH:
    return cli_parsed(parse_list(arg, "--batch", INT32_MAX, &args->batches, error));
  case KEY_WARMUP:
    return cli_parsed(parse_warmup(arg, args));
  case KEY_DURATION:
    return cli_parsed(parse_seconds(arg, "--duration", 0.001, &args->duration_ns, error));
  case KEY_LATENCIES:
    return cli_parsed(parse_latencies(arg, args));
  case KEY_MIX:
    args->models.mix = arg;
    return 0;
  case KEY_CLONES:
    args->clones = true;
    return 0;
  case KEY_RATE:
    return cli_parsed(parse_decimal(arg, "--rate", 0.001, MOST_RATE, &args->rate, error));
  case KEY_CHECK:
    args->check = true;
    return 0;
  case KEY_PROFILE:
    args->profile = true;
    return 0;
  case ARGP_KEY_ARG:
    return cli_parsed(bench_models_add(&args->models, arg, error));
  case ARGP_KEY_END:
    return cli_parsed(check_all(args));
  default:
    return cli_parse_model(key, arg, state);
  }
}

static const struct argp_child children[] = {
    {&traced_library_argp, 0, "Library:", 10}, {&series_argp, 0, "Inputs:", 1}, {0}};
static const char doc[] =
    "Runs one seeded sequence of requests twice, or for some time. Shows latency with its 95 % "
    "intervals, throughput, memory and what the cache did; several engines, numbers of threads, "
    "callers or batches in one table.\v"
    "Without a range in --shape all requests of a model have one shape. Only the run is timed: "
    "inputs are made before. A request whose shapes no request before it had counts as new, also "
    "in its time. SIGINT ends early, with the report of what was measured. The exit code is 1 when "
    "a request failed, which ends it only where none of its model has worked, or an output "
    "differed.\n\n"
    "Several models are open in one context, and each request is for one of them, drawn by the "
    "seed. A model is called NAME, or as its file without folder and .onnx. --shape NAME=... and "
    "--input NAME=... are for every model with such an input, MODEL/NAME=... for one.\n\n"
    "Several engines are open at once, and get the requests in turns of eight or more, so that "
    "what the machine does meanwhile slows all of them. The ratio is that of p50 to the first "
    "one's. Outputs of the first request are compared with the first one's.\n\n"
    "Example:\n"
    "  latchkey bench rec.onnx --shape 'x=1x3x48x{32..320}' --requests 400\n"
    "  latchkey bench rec.onnx --shape x=1x3x48x320 --threads 1,2 --batch 1,4,8\n"
    "  latchkey bench rec.onnx --shape x=1x3x48x320 --engine native,onednn\n"
    "  latchkey bench det.onnx rec.onnx --mix det:1,rec:8 --callers 4 \\\n"
    "    --shape det/x=1x3x640x640 --shape 'rec/x=1x3x48x{32..320..32}'";

const struct argp bench_argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[NAME=]MODEL...",
    .doc = doc,
    .children = children,
};

void bench_args_create(bench_args *args) {
  *args = (bench_args){.engines = {.count = 1},
                       .within = {.relative = 1e-3, .absolute = 1e-5},
                       .threads = {{0}, 1},
                       .callers = {{1}, 1},
                       .batches = {{0}, 1}};
}

void bench_args_destroy(bench_args *args) {
  bench_models_clear(&args->models);
  lk_free(lk_allocator_default(), args->engines.text);
  args->engines = (bench_engines){0};
}

uint32_t bench_args_settings(const bench_args *args) {
  return args->engines.count * args->threads.count * args->callers.count * args->batches.count;
}
