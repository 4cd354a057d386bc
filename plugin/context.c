/* Contexts and executors: what everything else hangs on. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"
#include "ops/plan/onednn.h"
#include "plugin/internal.h"
#include "plugin/table.h"

static void *counting_alloc(void *user, size_t size, size_t alignment) {
  lk_context *context = user;
  atomic_fetch_add_explicit(&context->allocations, 1, memory_order_relaxed);
  return context->host_allocator.alloc(context->host_allocator.user, size, alignment);
}

static void counting_free(void *user, void *pointer) {
  lk_context *context = user;
  context->host_allocator.free(context->host_allocator.user, pointer);
}

void lk_context_log(lk_context *context, lk_log_level level, const char *line) {
  if (context->log != NULL && level != LK_LOG_OFF && (int32_t)level <= context->log_level) {
    char safe[LK_TEXT_ESCAPED_BYTES(LK_ERROR_CAPACITY)];
    (void)lk_text_escape(line, safe, sizeof safe);
    context->log(context->log_user, level, safe);
  }
}

lk_status lk_context_create(const lk_context_options *options, lk_context **out_context,
                            lk_error *error) {
  *out_context = NULL;
  lk_context_options read;
  LK_RETURN_NOT_OK(lk_context_options_read(options, &read, error));
  lk_status status = LK_OK;
  const lk_allocator host = read.allocator.alloc != NULL ? read.allocator : *lk_allocator_default();
  lk_context *context = lk_calloc(&host, 1, sizeof *context);
  if (context == NULL) return lk_fail_memory(error, "a context", sizeof *context);
  context->host_allocator = host;
  context->allocator = (lk_allocator){context, counting_alloc, counting_free};
  context->log_level = read.verbose;
  context->log = read.log;
  context->log_user = read.log_user;
  lk_ops_env *env = &context->env;
  const dnnl_version_t *version = dnnl_version();
  env->allocator = &context->allocator;
  env->threads = read.threads;
  env->engine_id = (uint32_t)dnnl_cpu << 16;
  env->isa = (uint32_t)dnnl_get_effective_cpu_isa();
  env->library =
      (uint32_t)version->major << 16 | (uint32_t)version->minor << 8 | (uint32_t)version->patch;
  env->math_mode = (uint32_t)dnnl_fpmath_mode_strict;
  /* oneDNN's own cache would keep alive what ours evicts */
  LK_TRY(lk_dnnl_check(error, dnnl_set_primitive_cache_capacity(0), "turn off oneDNN's cache"));
  lk_dnnl_create_begin();
  const dnnl_status_t created = dnnl_engine_create(&env->engine, dnnl_cpu, 0);
  lk_dnnl_create_end();
  LK_TRY(lk_dnnl_check(error, created, "create a CPU engine"));
  LK_TRY(lk_intern_create(env->allocator, &env->intern, error));
  LK_TRY(lk_layouts_create(env->allocator, &env->layouts, error));
  LK_TRY(lk_weights_create(env->allocator, read.weights_bytes, &env->weights, error));
  LK_TRY(lk_cache_create(env->allocator, read.cache_mode, read.cache_entries, read.cache_bytes,
                         &env->cache, error));
  lk_cache_set_words(env->cache, env->intern);
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
  if (env->weights != NULL) lk_weights_destroy(env->weights);
  if (env->layouts != NULL) lk_layouts_destroy(env->layouts);
  if (env->intern != NULL) lk_intern_destroy(env->intern);
  if (env->engine != NULL) dnnl_engine_destroy(env->engine);
  const lk_allocator host = context->host_allocator;
  lk_free(&host, context);
}

lk_status lk_executor_create(lk_context *context, const char *name, lk_executor **out_executor,
                             lk_error *error) {
  *out_executor = NULL;
  lk_status status = LK_OK;
  const lk_allocator *allocator = &context->allocator;
  lk_executor *executor = lk_calloc(allocator, 1, sizeof *executor);
  if (executor == NULL) return lk_fail_memory(error, "an executor", sizeof *executor);
  executor->context = context;
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

static const char *isa_name(void) {
  switch (dnnl_get_effective_cpu_isa()) {
  case dnnl_cpu_isa_sse41:
    return "SSE4.1";
  case dnnl_cpu_isa_avx:
    return "AVX";
  case dnnl_cpu_isa_avx2:
    return "AVX2";
  case dnnl_cpu_isa_avx2_vnni:
  case dnnl_cpu_isa_avx2_vnni_2:
    return "AVX2 VNNI";
  case dnnl_cpu_isa_default:
    return "baseline";
  default:
    return "AVX-512 or later";
  }
}

const char *lk_version_text(void) {
  /* thread-local, so that two threads that ask first do not write over each other */
  static _Thread_local char text[96];
  const dnnl_version_t *version = dnnl_version();
  (void)snprintf(text, sizeof text, "%d.%d.%d (oneDNN %d.%d.%d, %s)", LK_VERSION_MAJOR,
                 LK_VERSION_MINOR, LK_VERSION_PATCH, version->major, version->minor, version->patch,
                 isa_name());
  return text;
}
