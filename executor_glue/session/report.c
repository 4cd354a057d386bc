/* What a session counts: as a struct, and all of it as JSON; and a context by itself. */
#include "executor_glue/report/report.h"
#include "base/alloc.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "executor_glue/report/json.h"
#include "executor_glue/session/session.h"

lk_status lk_session_get_stats(lk_session *session, lk_session_stats *out, lk_error *error) {
  LK_REQUIRE("stats", error, session, out);
  lk_session_stats stats = {.struct_size = sizeof stats,
                            .nodes_in_file = session->graph->n_nodes_in_file,
                            .nodes = session->graph->n_nodes,
                            .constants = session->n_constants,
                            .weights_bytes = session->constant_bytes,
                            .load_ns = session->load_ns};
  lk_flow_stats(session->flow, &stats);
  lk_session_defaults_stats(session, &stats);
  return lk_struct_write(out, &stats, sizeof stats, "lk_session_stats", error);
}

static json_t *open_dims_json(const lk_graph *graph) {
  lk_json dims = lk_json_begin(json_array());
  for (size_t i = 0; i < graph->n_inputs; i++) {
    const lk_value *value = &graph->values[graph->inputs[i]];
    for (int32_t d = 0; value->declared != NULL && d < value->declared->rank; d++) {
      const char *symbol = value->declared->symbols[d];
      if (value->declared->dims[d] >= 0) continue;
      lk_json dim = lk_json_begin(json_object());
      lk_json_set(&dim, "input", lk_json_text(value->name));
      lk_json_set(&dim, "dim", lk_json_number((uint64_t)d));
      lk_json_set(&dim, "symbol", lk_json_text(symbol != NULL ? symbol : ""));
      lk_json_add(&dims, lk_json_end(&dim));
    }
  }
  return lk_json_end(&dims);
}

static json_t *fixed_dims_json(const lk_session_options *options) {
  lk_json dims = lk_json_begin(json_array());
  for (uint32_t i = 0; i < options->n_fixed_dims; i++) {
    lk_json dim = lk_json_begin(json_object());
    LK_JSON_SET(&dim, &options->fixed_dims[i], name, size);
    lk_json_add(&dims, lk_json_end(&dim));
  }
  return lk_json_end(&dims);
}

static json_t *session_json(lk_session *session, const lk_session_stats *stats) {
  const lk_report_source source = {
      .api = session->api, .graph = session->graph, .flow = session->flow};
  lk_json json = lk_json_begin(json_object());
  const char *path = lk_onnx_model_path(session->model);
  lk_json_set(&json, "model", lk_json_text(path != NULL ? path : ""));
  LK_JSON_SET(&json, stats, constants, weights_bytes, load_ns);
  lk_json_set(&json, "open_dims", open_dims_json(session->graph));
  lk_json_set(&json, "fixed_dims", fixed_dims_json(&session->options));
  if (!lk_report_runs(json.value, stats)) json.failed = true;
  if (!lk_report_graph(json.value, &source)) json.failed = true;
  return lk_json_end(&json);
}

lk_status lk_session_report(lk_session *session, char **out_text, lk_error *error) {
  if (out_text != NULL) *out_text = NULL;
  LK_REQUIRE("report", error, session, out_text);
  lk_session_stats stats = {.struct_size = sizeof stats};
  LK_RETURN_NOT_OK(lk_session_get_stats(session, &stats, error));
  lk_json json = lk_json_begin(lk_report_begin(session->api));
  lk_json_set(&json, "context", lk_report_context(session->api, session->context));
  lk_json_set(&json, "session", session_json(session, &stats));
  return lk_report_text(session->allocator, lk_json_end(&json), out_text, error);
}

void lk_session_report_release(lk_session *session, char *text) {
  lk_free(session->allocator, text);
}

lk_status lk_context_report(lk_context *context, char **out_text, lk_error *error) {
  if (out_text != NULL) *out_text = NULL;
  LK_REQUIRE("context_report", error, context, out_text);
  const lk_api *api = lk_get_api(LK_API_VERSION);
  lk_json json = lk_json_begin(lk_report_begin(api));
  lk_json_set(&json, "context", lk_report_context(api, context));
  return lk_report_text(api->context_allocator(context), lk_json_end(&json), out_text, error);
}

void lk_context_report_release(lk_context *context, char *text) {
  lk_free(lk_get_api(LK_API_VERSION)->context_allocator(context), text);
}

static char *make_text(void *session) {
  char *text = NULL;
  return lk_session_report(session, &text, NULL) == LK_OK ? text : NULL;
}

static void release_text(void *session, char *text) {
  lk_session_report_release(session, text);
}

void lk_session_reporter_enter(lk_session *session) {
  session->reporter = (lk_reporter){
      .context = session->context, .make = make_text, .release = release_text, .object = session};
  session->api->reporter_enter(&session->reporter);
}

void lk_session_reporter_leave(lk_session *session) {
  session->api->reporter_leave(&session->reporter);
}
