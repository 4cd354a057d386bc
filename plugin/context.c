/* Contexts and executors: what everything else hangs on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/require.h"
#include "base/status.h"
#include "ops/engine/planning.h"
#include "plugin/engines.h"
#include "plugin/internal.h"
#include "plugin/table.h"
#include "plugin/tuning_file.h"

static _Atomic uint64_t next_serial = 1;

static void log_settings(lk_context *context, const lk_context_options *options) {
  char line[LK_ERROR_CAPACITY];
  (void)snprintf(line, sizeof line,
                 "context of %s: %" PRId32 " threads, cache %s of %" PRIu64 " entries and %" PRIu64
                 " bytes",
                 lk_version_text(), options->threads, lk_cache_mode_name(options->cache_mode),
                 options->cache_entries, options->cache_bytes);
  lk_context_log(context, LK_LOG_INFO, line);
}

static void warn(void *context, const char *line) {
  lk_context_log(context, LK_LOG_WARNING, line);
}

static lk_status read_tuning(lk_context *context, const char *path, lk_error *error) {
  const lk_allocator *allocator = &context->allocator;
  lk_tuning *tuning = lk_engines_tuning(context->env.engines);
  if (path == NULL || path[0] == '\0') return LK_OK;
  context->tuning = lk_strdup(allocator, path);
  if (context->tuning == NULL) return lk_fail_memory(error, "a path", strlen(path) + 1);
  LK_RETURN_NOT_OK(lk_tuning_file_read(tuning, allocator, path, error));
  const uint64_t skipped = lk_tuning_skipped(tuning);
  if (skipped == 0) return LK_OK;
  char line[LK_ERROR_CAPACITY];
  (void)snprintf(line, sizeof line,
                 "tuning file '%.200s': skipped %" PRIu64
                 " line%s, damaged, of another version, or of more works than are kept",
                 path, skipped, skipped == 1 ? "" : "s");
  lk_context_log(context, LK_LOG_WARNING, line);
  return LK_OK;
}

lk_status lk_context_create(const lk_context_options *options, lk_context **out_context,
                            lk_error *error) {
  LK_REQUIRE("context_create", error, out_context);
  *out_context = NULL;
  lk_context_options read;
  uint8_t sources[LK_OPTION_PROCESSORS];
  LK_RETURN_NOT_OK(lk_context_options_read(options, &read, sources, error));
  lk_status status = LK_OK;
  const bool has_own = read.allocator.alloc != NULL;
  const lk_allocator host = has_own ? read.allocator : *lk_allocator_default();
  lk_context *context = lk_calloc_lines(&host, sizeof *context);
  if (context == NULL) return lk_fail_memory(error, "a context", sizeof *context);
  context->host_allocator = host;
  lk_memory_budget_init(&context->memory, has_own ? &host : NULL, read.memory_bytes);
  lk_memory_budget_init(&context->weights_memory, has_own ? &host : NULL, LK_MEMORY_UNLIMITED);
  context->allocator = lk_memory_budget_allocator(&context->memory);
  context->weights_allocator = read.weights_apart != 0
                                   ? lk_memory_budget_allocator(&context->weights_memory)
                                   : context->allocator;
  context->serial = atomic_fetch_add_explicit(&next_serial, 1, memory_order_relaxed);
  context->made = read;
  memcpy(context->sources, sources, sizeof sources);
  context->log_level = read.verbose;
  context->log = read.log;
  context->log_user = read.log_user;
  lk_ops_env *env = &context->env;
  env->allocator = &context->allocator;
  env->memory = &context->memory;
  env->threads = read.threads;
  env->planning = &lk_engines_planning;
  env->warn = warn;
  env->context = context;
  LK_TRY(lk_intern_create(env->allocator, &env->intern, error));
  LK_TRY(lk_weights_create(&context->weights_allocator, read.weights_bytes, &env->weights, error));
  LK_TRY(lk_cache_create(env->allocator, read.cache_mode, read.cache_entries, read.cache_bytes,
                         &env->cache, error));
  lk_cache_set_words(env->cache, env->intern);
  lk_cache_set_event(env->cache, read.event, read.event_user);
  LK_TRY(lk_engines_create(env->allocator, env->intern, &env->engines, error));
  LK_TRY(lk_host_operators_create(env->allocator, &context->operators, error));
  if (sources[LK_OPTION_ENGINE] == LK_FROM_DEFAULT) {
    LK_TRY(lk_engine_choose_default(context, error));
  } else {
    LK_TRY(lk_engine_choose(context, read.engine, error));
  }
  LK_TRY(read_tuning(context, read.tuning, error));
  context->made.engine = context->made.tuning = NULL; /* the host's */
  log_settings(context, &read);
  *out_context = context;
  context = NULL;
cleanup:
  lk_context_destroy(context);
  return status;
}

void lk_context_destroy(lk_context *context) {
  if (context == NULL) return;
  lk_ops_env *env = &context->env;
  /* values first: they use everything below */
  if (env->cache != NULL) lk_cache_destroy(env->cache);
  lk_engines_destroy(env->engines);
  lk_host_operators_destroy(context->operators);
  lk_free(&context->allocator, context->tuning);
  if (env->weights != NULL) lk_weights_destroy(env->weights);
  if (env->intern != NULL) lk_intern_destroy(env->intern);
  lk_memory_budget_trim(&context->memory);
  lk_memory_budget_trim(&context->weights_memory);
  const lk_allocator host = context->host_allocator;
  lk_free(&host, context);
}

lk_status lk_executor_create(lk_context *context, const char *name, lk_executor **out_executor,
                             lk_error *error) {
  LK_REQUIRE("executor_create", error, context, out_executor);
  *out_executor = NULL;
  lk_status status = LK_OK;
  const lk_allocator *allocator = &context->allocator;
  lk_executor *executor = lk_calloc(allocator, 1, sizeof *executor);
  if (executor == NULL) return lk_fail_memory(error, "an executor", sizeof *executor);
  executor->context = context;
  atomic_store(&context->had_executor, true);
  executor->number = atomic_fetch_add_explicit(&next_serial, 1, memory_order_relaxed)
                     << LK_EXECUTOR_SHIFT;
  executor->identity = lk_executor_identity_make(executor);
  executor->name = lk_strdup(allocator, name != NULL ? name : "");
  if (executor->name == NULL) {
    LK_TRY(lk_fail_memory(error, "an executor's name", strlen(name != NULL ? name : "") + 1));
  }
  LK_TRY(lk_quota_create(context->env.cache, &executor->quota, error));
  *out_executor = executor;
  executor = NULL;
cleanup:
  lk_executor_destroy(executor);
  return status;
}

void lk_executor_destroy(lk_executor *executor) {
  if (executor == NULL) return;
  const lk_allocator *allocator = &executor->context->allocator;
  if (executor->quota != NULL) lk_quota_destroy(executor->quota);
  lk_free(allocator, executor->name);
  lk_free(allocator, executor);
}
