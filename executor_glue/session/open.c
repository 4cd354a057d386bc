/* Opens a model: loads it, runs the passes, makes an op for each node. Also clones and closes. */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/tensor.h"
#include "executor_glue/graph/look.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/pass.h"
#include "executor_glue/session/session.h"

/* Where a model comes from: a path, memory, or what another session has mapped. */
typedef struct lk_session_source {
  const char *path;
  const void *data;
  size_t size;
  lk_onnx_model *model;
} lk_session_source;

/* Counts the constants that the passes left, before the executor hands them over. */
static void count_constants(lk_session *session) {
  for (size_t i = 0; i < session->graph->n_values; i++) {
    const lk_value *value = &session->graph->values[i];
    int64_t bytes = 0;
    if (value->constant_kind == LK_CONSTANT_NONE || value->n_uses == 0) continue;
    if (lk_tensor_size(&value->constant.desc, "a constant", NULL, &bytes, NULL) != LK_OK) continue;
    session->n_constants++;
    session->constant_bytes += (uint64_t)bytes;
  }
}

static lk_status run_passes(lk_session *session, const lk_session_options *options,
                            lk_error *error) {
  session->pass_changes = lk_calloc(session->allocator, lk_n_passes, sizeof *session->pass_changes);
  session->disabled_passes = lk_calloc(session->allocator, lk_n_passes, sizeof(char *));
  if (session->pass_changes == NULL || session->disabled_passes == NULL) {
    return lk_fail_memory(error, "counts of passes", lk_n_passes * sizeof *session->pass_changes);
  }
  const lk_pass_env env = {.api = session->api,
                           .context = session->context,
                           .max_folded_bytes = options->max_folded_bytes};
  return lk_passes_run(&env, session->graph, options->disabled_passes, options->n_disabled_passes,
                       session->pass_changes, error);
}

static lk_status check_options(const lk_session_options *options, lk_error *error) {
  if (options->run_plans < -1 || options->run_plans > 1) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read option run_plans: it is %d, -1 to 1 are allowed",
                   options->run_plans);
  }
  if (options->executor > LK_EXECUTOR_PARALLEL) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read option executor: it is %" PRIu32
                   ", 0 (naive) or 1 (parallel) is allowed",
                   options->executor);
  }
  if (options->inter < 0 || options->inter > LK_MAX_THREADS) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read option inter: it is %" PRId32
                   ", 0 (the processors) to %d are allowed",
                   options->inter, LK_MAX_THREADS);
  }
  if (options->when_busy > LK_WHEN_BUSY_FAIL) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read option when_busy: it is %" PRIu32
                   ", 0 (wait) or 1 (fail) is allowed",
                   options->when_busy);
  }
  if (options->copy_model > 1) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read option copy_model: it is %" PRIu32
                   ", 0 (map) or 1 (copy) is allowed",
                   options->copy_model);
  }
  for (uint32_t i = 0; i < options->n_disabled_passes; i++) {
    if (options->disabled_passes == NULL || options->disabled_passes[i] == NULL) {
      return lk_fail(error, LK_INVALID_ARGUMENT,
                     "failed to read option disabled_passes: name %u is NULL, it is required", i);
    }
  }
  return LK_OK;
}

/* Also the names of disabled passes, which are the caller's. */
static void keep_options(lk_session *session, lk_session_options options) {
  uint32_t n_disabled = 0;
  for (size_t i = 0; i < lk_n_passes; i++) {
    const char *name = lk_passes[i].name;
    if (!lk_pass_is_disabled(name, options.disabled_passes, options.n_disabled_passes)) continue;
    session->disabled_passes[n_disabled++] = name;
  }
  options.disabled_passes = session->disabled_passes;
  options.n_disabled_passes = n_disabled;
  session->options = options;
}

static lk_status copy_fixed_dims(lk_session *session, lk_session_options *options,
                                 lk_error *error) {
  const lk_fixed_dim *given = options->fixed_dims;
  if (options->n_fixed_dims == 0) return LK_OK;
  session->fixed_dims =
      lk_calloc(session->allocator, options->n_fixed_dims, sizeof *session->fixed_dims);
  if (session->fixed_dims == NULL) {
    return lk_fail_memory(error, "fixed dimensions", options->n_fixed_dims * sizeof *given);
  }
  for (uint32_t i = 0; i < options->n_fixed_dims; i++) {
    lk_fixed_dim *copy = &session->fixed_dims[session->options.n_fixed_dims++];
    *copy = (lk_fixed_dim){lk_strdup(session->allocator, given[i].name), given[i].size};
    if (copy->name == NULL) return lk_fail_memory(error, "a name", strlen(given[i].name) + 1);
  }
  options->fixed_dims = session->fixed_dims;
  return LK_OK;
}

static void destroy_fixed_dims(const lk_session *session) {
  for (uint32_t i = 0; i < session->options.n_fixed_dims; i++) {
    lk_free(session->allocator, (void *)(uintptr_t)session->fixed_dims[i].name);
  }
  lk_free(session->allocator, session->fixed_dims);
}

static lk_status load(lk_session *session, const lk_session_source *source, bool copies,
                      lk_error *error) {
  const lk_allocator *allocator = session->allocator;
  if (source->model != NULL) {
    lk_onnx_model_retain(source->model);
    session->model = source->model;
    return lk_onnx_model_read(session->model, session->context, &session->graph, error);
  }
  if (source->path != NULL) {
    return lk_onnx_load_file(allocator, session->context, source->path, copies, &session->model,
                             &session->graph, error);
  }
  return lk_onnx_load_memory(allocator, session->context, source->data, source->size,
                             &session->model, &session->graph, error);
}

/* The first entry of each key. */
static lk_status index_metadata(lk_session *session, lk_error *error) {
  const lk_graph *graph = session->graph;
  if (graph->n_metadata == 0) return LK_OK;
  LK_RETURN_NOT_OK(lk_value_names_create(graph, graph->n_metadata, &session->metadata, error));
  for (size_t i = 0; i < graph->n_metadata; i++) {
    const char *key = graph->metadata[i].key;
    LK_RETURN_NOT_OK(lk_step(error));
    if (lk_value_names_find(&session->metadata, key) != LK_NO_VALUE) continue;
    LK_RETURN_NOT_OK(lk_value_names_put(&session->metadata, key, (int32_t)i, error));
  }
  return LK_OK;
}

/* What a new session consists of; `options` may have its fixed dimensions replaced by copies. */
static lk_status make(lk_session *session, const lk_session_source *source,
                      lk_session_options *options, lk_error *error) {
  const lk_api *api = session->api;
  LK_RETURN_NOT_OK(lk_graph_look(api, "open the model", error));
  LK_RETURN_NOT_OK(load(session, source, options->copy_model != 0, error));
  LK_RETURN_NOT_OK(lk_graph_look(api, "open the model", error));
  LK_RETURN_NOT_OK(lk_session_defaults_take(session, error));
  LK_RETURN_NOT_OK(
      lk_graph_fix_dims(session->graph, options->fixed_dims, options->n_fixed_dims, error));
  LK_RETURN_NOT_OK(copy_fixed_dims(session, options, error));
  const char *path = lk_onnx_model_path(session->model);
  LK_RETURN_NOT_OK(api->executor_create(session->context, path != NULL ? path : "a model in memory",
                                        &session->executor, error));
  LK_RETURN_NOT_OK(run_passes(session, options, error));
  LK_RETURN_NOT_OK(lk_onnx_model_refuse_unread(session->model, session->graph, error));
  count_constants(session);
  session->has_lendable = lk_session_has_lendable(session->graph);
  const lk_graph_executor_options how = lk_session_executor_options(api, options);
  LK_RETURN_NOT_OK(lk_flow_create(api, session->context, session->executor, session->graph, &how,
                                  &session->flow, error));
  LK_RETURN_NOT_OK(index_metadata(session, error));
  return lk_graph_look(api, "open the model", error);
}

/* The same, which what the options name may end. */
static lk_status make_watched(lk_session *session, const lk_session_source *source,
                              lk_session_options *options, lk_error *error) {
  const lk_api *api = session->api;
  const lk_watch watch = {.struct_size = sizeof watch,
                          .cancel = options->cancel,
                          .deadline_ns = options->deadline_ns,
                          .should_stop = options->should_stop,
                          .arg = options->should_stop_arg};
  lk_thread_watch room;
  LK_RETURN_NOT_OK(api->thread_watch(&room, &watch, error));
  const lk_api *before = lk_steps_begin(api);
  const lk_status status = make(session, source, options, error);
  lk_steps_end(before);
  api->thread_unwatch(&room);
  /* theirs no longer: a session, and its clones, outlive them */
  options->cancel = NULL;
  options->deadline_ns = 0;
  options->should_stop = NULL;
  options->should_stop_arg = NULL;
  return status;
}

static lk_status open_source(lk_context *context, const lk_session_source *source,
                             const lk_session_options *given, lk_session **out_session,
                             lk_error *error) {
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  lk_status status = LK_OK;
  uint64_t start = lk_now_ns();
  const lk_api *api = lk_get_api(LK_API_VERSION);
  const lk_allocator *allocator = api->context_allocator(context);
  lk_session *session = lk_calloc(allocator, 1, sizeof *session);
  if (session == NULL) return lk_fail_memory(error, "a session", sizeof *session);
  session->api = api;
  session->context = context;
  session->allocator = allocator;
  lk_session_outputs_init(session);
  lk_session_defaults_init(session);
  lk_session_trace_init(session);

  if (given != NULL) {
    LK_TRY(lk_struct_read(&options, sizeof options, given, "lk_session_options", error));
  }
  LK_TRY(check_options(&options, error));
  LK_TRY(make_watched(session, source, &options, error));
  lk_onnx_model_drop_pages(session->model);
  session->load_ns = lk_now_ns() - start;
  keep_options(session, options);
  lk_session_reporter_enter(session);
  *out_session = session;
  session = NULL;

cleanup:
  lk_session_close(session);
  return status;
}

lk_status lk_session_open(lk_context *context, const char *path, const lk_session_options *options,
                          lk_session **out_session, lk_error *error) {
  LK_REQUIRE("open", error, out_session);
  *out_session = NULL;
  LK_REQUIRE("open", error, context, path);
  lk_session_source source = {.path = path};
  return open_source(context, &source, options, out_session, error);
}

lk_status lk_session_open_memory(lk_context *context, const void *data, size_t size,
                                 const lk_session_options *options, lk_session **out_session,
                                 lk_error *error) {
  LK_REQUIRE("open_memory", error, out_session);
  *out_session = NULL;
  LK_REQUIRE("open_memory", error, context);
  if (size > 0) LK_REQUIRE("open_memory", error, data);
  lk_session_source source = {.data = data, .size = size};
  return open_source(context, &source, options, out_session, error);
}

lk_status lk_session_clone(lk_session *session, lk_session **out_session, lk_error *error) {
  LK_REQUIRE("clone", error, out_session);
  *out_session = NULL;
  LK_REQUIRE("clone", error, session);
  const lk_session_source source = {.model = session->model};
  return open_source(session->context, &source, &session->options, out_session, error);
}

/* A session that held this much is worth a walk through the C library's heap when it closes. */
#define TRIM_BYTES ((uint64_t)1 << 20)

static bool is_large(const lk_session *session) {
  lk_session_stats stats = {0};
  if (session->flow == NULL) return false;
  lk_flow_stats(session->flow, &stats);
  return session->constant_bytes + stats.arena_bytes >= TRIM_BYTES;
}

void lk_session_close(lk_session *session) {
  if (session == NULL) return;
  lk_session_reporter_leave(session);
  const bool trims = is_large(session);
  lk_session_defaults_destroy(session);
  /* In this order: ops lend constants from the graph, which lie in the mapped model. */
  lk_flow_destroy(session->flow);
  if (session->executor != NULL) session->api->executor_destroy(session->executor);
  lk_value_names_destroy(&session->metadata);
  lk_graph_destroy(session->graph);
  lk_onnx_model_release(session->model);
  lk_session_outputs_destroy(session);
  lk_session_trace_destroy(session);
  if (trims) session->api->cache_trim(session->context);
  destroy_fixed_dims(session);
  lk_free(session->allocator, (void *)session->disabled_passes);
  lk_free(session->allocator, session->pass_changes);
  lk_free(session->allocator, session);
}
