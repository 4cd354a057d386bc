/* The command line of `latchkey load`: models with names, their mix, threads, and when to end. */
#include "executor_glue/cli/load/args.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"
#include "executor_glue/cli/common/numbers.h"

enum {
  KEY_MIX = 0x500,
  KEY_SECONDS,
  KEY_WARMUP,
  KEY_RATE,
  KEY_POOL,
  KEY_SEED,
  KEY_CLONES,
  KEY_CHECK,
  KEY_RTOL,
  KEY_ATOL,
  MAX_WEIGHT = 1000000,
  MAX_POOL = 100000
};
#define MAX_RATE 1e9
#define DEFAULT_SECONDS_NS UINT64_C(10000000000)

static const struct argp_option options[] = {
    {"threads", 't', "N", 0,
     "Send requests from N threads; each sends its next when the last is answered (default: 1)", 1},
    {"mix", KEY_MIX, "A:3,B:1", 0, "Weigh models by name; 0 is never (default: 1)", 1},
    {"seconds", KEY_SECONDS, "S", 0, "Send for S seconds, with fractions (default: 10)", 1},
    {"requests", 'n', "N", 0, "Send N requests in all, instead of --seconds", 1},
    {"warmup", KEY_WARMUP, "S", 0, "Send for S seconds before the clock starts (default: 1)", 1},
    {"rate", KEY_RATE, "R", 0,
     "Send R requests per second in all, at equal distances. Latency then counts from when a "
     "request was due, so it includes the wait for a free thread (default: each thread sends as "
     "fast as it can)",
     1},
    {"clones", KEY_CLONES, NULL, 0,
     "Clone the session of each model for each thread (default: all threads share one)", 1},
    {"check", KEY_CHECK, NULL, 0,
     "Run every request alone first, in a context of its own, and compare all outputs with those",
     1},
    {"rtol", KEY_RTOL, "X", 0, "Let --check allow a relative difference of X (default: 1e-3)", 1},
    {"atol", KEY_ATOL, "X", 0, "Let --check allow an absolute difference of X (default: 1e-5)", 1},
    {"pool", KEY_POOL, "N", 0, "Prepare N different requests for each model (default: 32)", 3},
    {"seed", KEY_SEED, "S", 0, "Draw shapes, values and the mix by this seed (default: 1)", 3},
    {0}};

/* ---- models ---------------------------------------------------------------------------------- */

static load_model_args *find_model(const load_args *args, const char *name, size_t length) {
  for (size_t i = 0; i < args->n_models; i++) {
    load_model_args *model = &args->models[i];
    if (strlen(model->name) == length && memcmp(model->name, name, length) == 0) return model;
  }
  return NULL;
}

/* Splits [NAME=]FILE at the first '=', if no '/' stands before it. Without a NAME it is the file's,
 * without folder and suffix. */
static void split_model(const char *text, const char **name, size_t *length, const char **path) {
  const char *equals = strchr(text, '=');
  const char *slash = strchr(text, '/');
  if (equals != NULL && equals != text && (slash == NULL || equals < slash)) {
    *name = text;
    *length = (size_t)(equals - text);
    *path = equals + 1;
    return;
  }
  static const char suffix[] = ".onnx";
  const size_t n_suffix = sizeof suffix - 1;
  const char *last = strrchr(text, '/');
  *path = text;
  *name = last != NULL ? last + 1 : text;
  *length = strlen(*name);
  if (*length > n_suffix && strcmp(*name + *length - n_suffix, suffix) == 0) *length -= n_suffix;
}

static lk_status add_model(load_args *args, const char *text) {
  const lk_allocator *allocator = lk_allocator_default();
  const char *name = NULL;
  const char *path = NULL;
  size_t length = 0;
  split_model(text, &name, &length, &path);
  if (*path == '\0') {
    return lk_fail(&args->common.error, LK_INVALID_ARGUMENT,
                   "failed to read the command line: '%s', NAME=FILE.onnx is needed", text);
  }
  const load_model_args *same = find_model(args, name, length);
  if (same != NULL) {
    char called[81], first[151], second[151];
    (void)lk_text_escape(same->name, called, sizeof called);
    (void)lk_text_escape(same->path, first, sizeof first);
    (void)lk_text_escape(path, second, sizeof second);
    return lk_fail(&args->common.error, LK_INVALID_ARGUMENT,
                   "failed to name the models: '%s' and '%s' are both called '%s', give one "
                   "another name: NAME=FILE.onnx",
                   first, second, called);
  }
  if (!LK_GROW(allocator, args->models, args->n_models, args->models_capacity)) {
    return lk_fail_memory(&args->common.error, "arguments", sizeof *args->models);
  }
  char *copy = lk_strndup(allocator, name, length);
  if (copy == NULL) return lk_fail_memory(&args->common.error, "arguments", length);
  args->models[args->n_models++] = (load_model_args){.name = copy, .path = path, .weight = 1};
  return LK_OK;
}

/* NAME:WEIGHT; the weight begins at the last ':'. `given`: [n_models] */
static lk_status read_share(load_args *args, const char *text, bool *given) {
  const char *colon = strrchr(text, ':');
  uint64_t weight = 0;
  if (colon == NULL || colon == text || !lk_parse_number(colon + 1, false, &weight) ||
      weight > MAX_WEIGHT) {
    return lk_fail(&args->common.error, LK_OUT_OF_RANGE,
                   "failed to read --mix: '%s', NAME:WEIGHT with a weight from 0 to %d is needed",
                   text, MAX_WEIGHT);
  }
  load_model_args *model = find_model(args, text, (size_t)(colon - text));
  if (model == NULL) {
    return lk_fail(&args->common.error, LK_NOT_FOUND,
                   "failed to read --mix: no model is called '%.*s', the first is called '%s'",
                   (int)(colon - text), text, args->models[0].name);
  }
  if (given[model - args->models]) {
    return lk_fail(&args->common.error, LK_INVALID_ARGUMENT,
                   "failed to read --mix: '%s' is given twice, once is needed", model->name);
  }
  given[model - args->models] = true;
  model->weight = weight;
  return LK_OK;
}

static lk_status read_mix(load_args *args) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = lk_allocator_default();
  bool *given = lk_calloc(allocator, args->n_models, sizeof *given);
  char *copy = lk_strdup(allocator, args->mix);
  if (given == NULL || copy == NULL) {
    LK_TRY(lk_fail_memory(&args->common.error, "--mix", args->n_models));
  }
  char *rest = copy;
  for (char *share = strsep(&rest, ","); share != NULL; share = strsep(&rest, ",")) {
    LK_TRY(read_share(args, share, given));
  }
  uint64_t total = 0;
  for (size_t i = 0; i < args->n_models; i++) total += args->models[i].weight;
  if (total == 0) {
    status = lk_fail(&args->common.error, LK_OUT_OF_RANGE,
                     "failed to read --mix: '%s', one weight must be more than 0", args->mix);
  }

cleanup:
  lk_free(allocator, copy);
  lk_free(allocator, given);
  return status;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* After the last argument. */
static lk_status check_all(load_args *args) {
  if (args->n_models == 0) {
    return lk_fail(&args->common.error, LK_INVALID_ARGUMENT,
                   "failed to read the command line: MODEL is missing, see --help");
  }
  if (args->seconds_ns > 0 && args->requests > 0) {
    return lk_fail(&args->common.error, LK_INVALID_ARGUMENT,
                   "failed to read the command line: --seconds and --requests both say when to "
                   "end, one is needed");
  }
  if (args->seconds_ns == 0 && args->requests == 0) args->seconds_ns = DEFAULT_SECONDS_NS;
  return args->mix != NULL ? read_mix(args) : LK_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  load_args *args = state->input;
  lk_error *error = &args->common.error;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &args->common.inputs;
    state->child_inputs[1] = &args->common.model;
    return 0;
  case 't':
    return cli_parsed(parse_u64(arg, "--threads", 1, LK_MAX_THREADS, &args->threads, error));
  case KEY_MIX:
    args->mix = arg;
    return 0;
  case KEY_SECONDS:
    return cli_parsed(parse_seconds(arg, "--seconds", 0.001, &args->seconds_ns, error));
  case KEY_WARMUP:
    return cli_parsed(parse_seconds(arg, "--warmup", 0.0, &args->warmup_ns, error));
  case 'n':
    return cli_parsed(parse_u64(arg, "--requests", 1, UINT32_MAX, &args->requests, error));
  case KEY_RATE:
    return cli_parsed(parse_decimal(arg, "--rate", 0.001, MAX_RATE, &args->rate, error));
  case KEY_POOL:
    return cli_parsed(parse_u64(arg, "--pool", 1, MAX_POOL, &args->common.inputs.requests, error));
  case KEY_SEED:
    return cli_parsed(parse_u64(arg, "--seed", 0, UINT64_MAX, &args->common.inputs.seed, error));
  case KEY_CLONES:
    args->clones = true;
    return 0;
  case KEY_CHECK:
    args->check = true;
    return 0;
  case KEY_RTOL:
    return cli_parsed(parse_tolerance(arg, "--rtol", &args->within.relative, error));
  case KEY_ATOL:
    return cli_parsed(parse_tolerance(arg, "--atol", &args->within.absolute, error));
  case ARGP_KEY_ARG:
    return cli_parsed(add_model(args, arg));
  case ARGP_KEY_END:
    return cli_parsed(check_all(args));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {
    {&input_argp, 0, "Inputs:", 2}, {&traced_op_threads_argp, 0, "Library:", 10}, {0}};
static const char doc[] =
    "Sends requests to several models of one process from several threads. Shows throughput, the "
    "latency of each model, what the cache did, memory, and how many processors were busy.\v"
    "A model is called NAME, or as its file without folder and .onnx. --shape NAME=... and --input "
    "NAME=... are for every model with such an input, MODEL/NAME=... for one. Requests are "
    "prepared before the clock starts. Each thread draws a model by weight and then one of its "
    "requests, by the seed. Latency is the time of the run; percentiles are within 0.4 %. A "
    "request that has begun is finished and counted. SIGINT ends early, with the report. The exit "
    "code is 1 when a request failed or an output differed.\n\n"
    "Example:\n"
    "  latchkey load det.onnx rec.onnx --mix det:1,rec:8 --threads 4 \\\n"
    "    --shape det/x=1x3x640x640 --shape 'rec/x=1x3x48x{32..320..32}'";

const struct argp load_argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[NAME=]MODEL...",
    .doc = doc,
    .children = children,
};
