/* Options that several subcommands have: argp children and what they fill in. */
#include "executor_glue/cli/common/options.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"
#include "executor_glue/cli/common/numbers.h"

error_t cli_parsed(lk_status status) {
  return status == LK_OK ? 0 : EINVAL;
}

/* ---- models ---------------------------------------------------------------------------------- */

enum {
  KEY_CACHE = 0x100,
  KEY_ENGINE,
  KEY_TUNING,
  KEY_ENTRIES,
  KEY_BYTES,
  KEY_MEMORY,
  KEY_DISABLE,
  KEY_FIX,
  KEY_JSON,
  KEY_NO_RUN_PLANS,
  KEY_FOLDED,
  KEY_EXECUTOR,
  KEY_INTER
};

static const struct argp_option library_options[] = {
    {"cache", KEY_CACHE, "MODE", 0,
     "shared: all threads use one cache; thread: each has one of its own; off (default: shared)",
     10},
    {"cache-entries", KEY_ENTRIES, "N", 0, "Keep at most N entries; 0 disables the cache", 10},
    {"cache-bytes", KEY_BYTES, "SIZE", 0,
     "Keep at most SIZE bytes, with k, m or g; 0 disables the cache (default: 20m, or "
     "256m with --engine onednn)",
     10},
    {"memory", KEY_MEMORY, "SIZE", 0,
     "Hold at most SIZE bytes of memory in all, with k, m or g (default: the machine's)", 10},
    {"disable-pass", KEY_DISABLE, "NAME", 0,
     "Leave out this graph pass; may be repeated ('latchkey inspect' lists them)", 10},
    {"fix", KEY_FIX, "NAME=SIZE", 0,
     "Give a dimension that the model leaves open this size: NAME as 'latchkey inspect' shows it, "
     "or INPUT[DIMENSION]; may be repeated",
     10},
    {"tuning", KEY_TUNING, "FILE", 0,
     "With the engine auto, choose by the times in FILE, which 'latchkey tune' writes", 10},
    {"max-folded", KEY_FOLDED, "SIZE", 0,
     "When the model is opened, compute at most SIZE bytes from constants, with k, m or g; what is "
     "larger is computed in each run (default: 2g)",
     10},
    {"no-run-plans", KEY_NO_RUN_PLANS, NULL, 0, "Look every operator up by its own key in each run",
     10},
    {"executor", KEY_EXECUTOR, "KIND", 0,
     "naive: one operator after the other, on all threads; parallel: branches at once, each "
     "operator on one thread (default: naive)",
     10},
    {"inter", KEY_INTER, "N", 0,
     "Run branches on N threads, with --executor parallel (default: the CPUs allowed)", 10},
    {"verbose", 'v', NULL, 0, "Show what the library logs on stderr; twice shows more", 10},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 10},
    {0}};

static lk_status parse_cache_mode(const char *text, uint32_t *out, lk_error *error) {
  if (lk_parse_cache_mode(text, out)) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to read --cache: '%s', off, thread or shared is needed", text);
}

static lk_status parse_executor(const char *text, uint32_t *out, lk_error *error) {
  const bool parallel = strcmp(text, "parallel") == 0;
  if (!parallel && strcmp(text, "naive") != 0) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read --executor: '%s', naive or parallel is needed", text);
  }
  *out = parallel ? LK_EXECUTOR_PARALLEL : LK_EXECUTOR_NAIVE;
  return LK_OK;
}

static lk_status add_disabled_pass(model_args *args, const char *name) {
  lk_session_options *session = &args->session;
  if (!LK_GROW(lk_allocator_default(), args->disabled_passes, session->n_disabled_passes,
               args->disabled_passes_capacity)) {
    return lk_fail_memory(args->error, "options", sizeof name);
  }
  args->disabled_passes[session->n_disabled_passes++] = name;
  session->disabled_passes = args->disabled_passes;
  return LK_OK;
}

static lk_status add_fixed_dim(model_args *args, const char *text) {
  const lk_allocator *allocator = lk_allocator_default();
  lk_session_options *session = &args->session;
  const char *equals = strrchr(text, '=');
  uint64_t size = 0;
  if (equals == NULL || equals == text) {
    return lk_fail(args->error, LK_INVALID_ARGUMENT,
                   "failed to read --fix: '%s', NAME=SIZE is needed", text);
  }
  LK_RETURN_NOT_OK(parse_u64(equals + 1, "--fix", 0, INT64_MAX, &size, args->error));
  if (!LK_GROW(allocator, args->fixed_dims, session->n_fixed_dims, args->fixed_dims_capacity)) {
    return lk_fail_memory(args->error, "options", sizeof *args->fixed_dims);
  }
  session->fixed_dims = args->fixed_dims;
  char *name = lk_strndup(allocator, text, (size_t)(equals - text));
  if (name == NULL) return lk_fail_memory(args->error, "options", strlen(text));
  args->fixed_dims[session->n_fixed_dims++] = (lk_fixed_dim){name, (int64_t)size};
  return LK_OK;
}

/* As options of a context have it: there, 0 stands for what is not given. */
static lk_status note_none(lk_status parsed, uint64_t *amount) {
  if (parsed == LK_OK && *amount == 0) *amount = LK_NONE;
  return parsed;
}

static error_t parse_library_option(int key, char *arg, struct argp_state *state) {
  model_args *args = state->input;
  switch (key) {
  case KEY_CACHE:
    return cli_parsed(parse_cache_mode(arg, &args->context.cache_mode, args->error));
  case KEY_ENTRIES:
    return cli_parsed(note_none(
        parse_u64(arg, "--cache-entries", 0, UINT32_MAX, &args->context.cache_entries, args->error),
        &args->context.cache_entries));
  case KEY_BYTES:
    return cli_parsed(
        note_none(parse_size(arg, "--cache-bytes", &args->context.cache_bytes, args->error),
                  &args->context.cache_bytes));
  case KEY_MEMORY:
    return cli_parsed(parse_size(arg, "--memory", &args->context.memory_bytes, args->error));
  case KEY_DISABLE:
    return cli_parsed(add_disabled_pass(args, arg));
  case KEY_FIX:
    return cli_parsed(add_fixed_dim(args, arg));
  case KEY_FOLDED:
    return cli_parsed(
        parse_size(arg, "--max-folded", &args->session.max_folded_bytes, args->error));
  case KEY_TUNING:
    args->context.tuning = arg;
    return 0;
  case KEY_NO_RUN_PLANS:
    args->session.run_plans = -1;
    return 0;
  case KEY_EXECUTOR:
    return cli_parsed(parse_executor(arg, &args->session.executor, args->error));
  case KEY_INTER:
    return cli_parsed(parse_threads(arg, "--inter", &args->session.inter, args->error));
  case ARGP_KEY_END:
    if (args->session.inter == 0 || args->session.executor == LK_EXECUTOR_PARALLEL) return 0;
    return cli_parsed(lk_fail(args->error, LK_INVALID_ARGUMENT,
                              "failed to read --inter: only --executor parallel has it"));
  case 'v':
    args->context.verbose = args->context.verbose < LK_LOG_INFO ? LK_LOG_INFO : LK_LOG_DEBUG;
    return 0;
  case KEY_JSON:
    args->json = true;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp library_argp = {.options = library_options,
                                         .parser = parse_library_option};

static const struct argp_option engine_options[] = {
    {"engine", KEY_ENGINE, "NAME", 0, CLI_ENGINE_HELP, 10}, {0}};

static error_t parse_engine_option(int key, char *arg, struct argp_state *state) {
  model_args *args = state->input;
  if (key != KEY_ENGINE) return ARGP_ERR_UNKNOWN;
  args->context.engine = arg;
  return 0;
}

static const struct argp engine_argp = {.options = engine_options, .parser = parse_engine_option};

static const struct argp_option threads_options[] = {
    {"threads", 't', "N", 0, "Let an operator use at most N threads (default: the CPUs allowed)",
     10},
    {0}};

static error_t parse_threads_option(int key, char *arg, struct argp_state *state) {
  model_args *args = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = args;
    state->child_inputs[1] = args;
    return 0;
  case 't':
    return cli_parsed(parse_threads(arg, "--threads", &args->context.threads, args->error));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child model_children[] = {
    {&library_argp, 0, NULL, 0}, {&engine_argp, 0, NULL, 0}, {0}};
const struct argp model_argp = {
    .options = threads_options, .parser = parse_threads_option, .children = model_children};

/* ---- traces ---------------------------------------------------------------------------------- */

enum { KEY_TRACE = 0x300, KEY_TRACE_EVENTS };

static const struct argp_option trace_options[] = {
    {"trace", KEY_TRACE, "FILE", 0,
     "Write what the runs did and when to FILE, for https://ui.perfetto.dev or chrome://tracing; "
     "they take up to 5 % longer",
     11},
    {"trace-events", KEY_TRACE_EVENTS, "N", 0,
     "Keep the last N events for --trace (default: 65536)", 11},
    {0}};

static error_t parse_trace_option(int key, char *arg, struct argp_state *state) {
  model_args *args = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = args;
    return 0;
  case KEY_TRACE:
    args->trace = arg;
    return 0;
  case KEY_TRACE_EVENTS:
    return cli_parsed(
        parse_u64(arg, "--trace-events", 1, UINT64_C(1) << 26, &args->trace_events, args->error));
  case ARGP_KEY_END:
    if (args->trace_events == 0 || args->trace != NULL) return 0;
    return cli_parsed(lk_fail(args->error, LK_INVALID_ARGUMENT,
                              "failed to read --trace-events: only --trace has it"));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child traced_library[] = {{&library_argp, 0, NULL, 0}, {0}};
static const struct argp_child traced_model[] = {{&model_argp, 0, NULL, 0}, {0}};
const struct argp traced_library_argp = {
    .options = trace_options, .parser = parse_trace_option, .children = traced_library};
const struct argp traced_model_argp = {
    .options = trace_options, .parser = parse_trace_option, .children = traced_model};

/* ---- inputs ---------------------------------------------------------------------------------- */

enum { KEY_SEED = 0x200 };

static const struct argp_option input_options[] = {
    {"shape", 's', "NAME=SHAPE", 0,
     "Draw a random input of this shape, for example 'x=1x3x48x{32..320}' (quote the braces). "
     "{a,b,c} is a list; {n:8..128} is a range that {n} repeats elsewhere. Floats are uniform in "
     "[0,1), integers and bools are zero",
     1},
    {"input", 'i', "NAME=FILE", 0, "Read an input from a .npy file", 1},
    {0}};

static const struct argp_option series_options[] = {
    {"requests", 'n', "N", 0, "Run N requests (default: bench 100, others 1)", 2},
    {"seed", KEY_SEED, "S", 0, "Draw shapes and values by this seed (default: 1)", 2},
    {0}};

lk_status input_args_add_file(input_args *args, const char *text) {
  lk_error *error = args->error;
  const lk_allocator *allocator = lk_allocator_default();
  const char *equals = strchr(text, '=');
  if (equals == NULL || equals == text || equals[1] == '\0') {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read --input: '%s', NAME=FILE.npy is needed", text);
  }
  if (!LK_GROW(allocator, args->files, args->n_files, args->files_capacity)) {
    return lk_fail_memory(error, "options", sizeof *args->files);
  }
  char *name = lk_strndup(allocator, text, (size_t)(equals - text));
  if (name == NULL) return lk_fail_memory(error, "options", strlen(text));
  for (size_t i = 0; i < args->n_files; i++) {
    if (strcmp(args->files[i].name, name) != 0) continue;
    lk_free(allocator, name);
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read --input: '%s' is given twice, once is needed",
                   args->files[i].name);
  }
  args->files[args->n_files++] = (input_file){name, equals + 1};
  return LK_OK;
}

static error_t parse_input_option(int key, char *arg, struct argp_state *state) {
  input_args *args = state->input;
  switch (key) {
  case 's':
    return cli_parsed(shape_set_add(args->shapes, arg, args->error));
  case 'i':
    return cli_parsed(input_args_add_file(args, arg));
  case ARGP_KEY_END:
    return cli_parsed(shape_set_check(args->shapes, args->error));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static error_t parse_series_option(int key, char *arg, struct argp_state *state) {
  input_args *args = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = args;
    return 0;
  case 'n':
    return cli_parsed(parse_u64(arg, "--requests", 1, 10000000, &args->requests, args->error));
  case KEY_SEED:
    return cli_parsed(parse_u64(arg, "--seed", 0, UINT64_MAX, &args->seed, args->error));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

const struct argp input_argp = {.options = input_options, .parser = parse_input_option};
static const struct argp_child series_children[] = {{&input_argp, 0, NULL, 0}, {0}};
const struct argp series_argp = {
    .options = series_options, .parser = parse_series_option, .children = series_children};

/* ---- life ------------------------------------------------------------------------------------ */

static void log_line(void *user, lk_log_level level, const char *line) {
  (void)user;
  (void)level;
  (void)fprintf(stderr, "latchkey: %s\n", line);
}

lk_status cli_args_create(cli_args *args, uint64_t requests) {
  lk_error *error = &args->error;
  args->model = (model_args){
      .context = LK_CONTEXT_OPTIONS_INIT, .session = LK_SESSION_OPTIONS_INIT, .error = error};
  args->model.context.log = log_line;
  args->inputs = (input_args){.seed = 1, .requests = requests, .error = error};
  return shape_set_create(lk_allocator_default(), &args->inputs.shapes, error);
}

void cli_args_destroy(cli_args *args) {
  const lk_allocator *allocator = lk_allocator_default();
  for (size_t i = 0; i < args->inputs.n_files; i++) lk_free(allocator, args->inputs.files[i].name);
  lk_free(allocator, args->inputs.files);
  shape_set_destroy(args->inputs.shapes);
  for (uint32_t i = 0; i < args->model.session.n_fixed_dims; i++) {
    lk_free(allocator, (void *)(uintptr_t)args->model.fixed_dims[i].name);
  }
  lk_free(allocator, args->model.fixed_dims);
  lk_free(allocator, args->model.disabled_passes);
}
