/* The table of level 2, and its questions to a session: inputs, outputs, the file, metadata,
 * statistics, nodes, passes. */
#include <inttypes.h>
#include <string.h>

#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "executor_glue/passes/pass.h"
#include "executor_glue/run/profile.h"
#include "executor_glue/run/trace_text.h"
#include "executor_glue/session/session.h"

static uint32_t input_count(const lk_session *session) {
  return (uint32_t)session->graph->n_inputs;
}

static uint32_t output_count(const lk_session *session) {
  return (uint32_t)session->graph->n_outputs;
}

static lk_status fill_value(const lk_session *session, const int32_t *values, size_t count,
                            const char *what, uint32_t index, lk_value_info *out, lk_error *error) {
  if (index >= count) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to describe %s %" PRIu32 ": the model has %zu, numbered from 0", what,
                   index, count);
  }
  const lk_value *value = &session->graph->values[values[index]];
  const lk_declaration *declared = value->declared;
  lk_value_info info = {.struct_size = sizeof info, .name = value->name, .rank = -1};
  if (value->constant_kind != LK_CONSTANT_NONE) {
    const lk_tensor_desc *desc = &value->constant.desc;
    info.dtype = desc->dtype;
    info.rank = (int32_t)desc->rank;
    memcpy(info.dims, desc->dims, sizeof info.dims);
  } else if (declared != NULL) {
    info.dtype = declared->dtype;
    info.rank = declared->rank;
    memcpy(info.dims, declared->dims, sizeof info.dims);
  }
  for (int32_t i = 0; i < LK_MAX_RANK; i++) {
    info.symbols[i] = declared != NULL && declared->symbols[i] != NULL ? declared->symbols[i] : "";
  }
  return lk_struct_write(out, &info, sizeof info, "lk_value_info", error);
}

static lk_status input_info(const lk_session *session, uint32_t index, lk_value_info *out,
                            lk_error *error) {
  LK_REQUIRE("input_info", error, session, out);
  const lk_graph *graph = session->graph;
  return fill_value(session, graph->inputs, graph->n_inputs, "input", index, out, error);
}

static lk_status output_info(const lk_session *session, uint32_t index, lk_value_info *out,
                             lk_error *error) {
  LK_REQUIRE("output_info", error, session, out);
  const lk_graph *graph = session->graph;
  return fill_value(session, graph->outputs, graph->n_outputs, "output", index, out, error);
}

static uint32_t default_count(const lk_session *session) {
  return (uint32_t)session->defaults.count;
}

static lk_status default_info(const lk_session *session, uint32_t index, lk_value_info *out,
                              lk_error *error) {
  LK_REQUIRE("default_info", error, session, out);
  const lk_session_defaults *defaults = &session->defaults;
  if (index >= defaults->count) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to describe input with a default %" PRIu32
                   ": the model has %zu, numbered from 0",
                   index, defaults->count);
  }
  return lk_struct_write(out, &defaults->infos[index], sizeof defaults->infos[index],
                         "lk_value_info", error);
}

static lk_status model_info(const lk_session *session, lk_model_info *out, lk_error *error) {
  LK_REQUIRE("model_info", error, session, out);
  return lk_struct_write(out, &session->graph->model, sizeof session->graph->model, "lk_model_info",
                         error);
}

static const char *metadata_key(const lk_session *session, uint32_t index) {
  return index < session->graph->n_metadata ? session->graph->metadata[index].key : NULL;
}

static const char *metadata_value(const lk_session *session, const char *key) {
  if (key == NULL || session->graph->n_metadata == 0) return NULL;
  const int32_t found = lk_value_names_find(&session->metadata, key);
  return found != LK_NO_VALUE ? session->graph->metadata[found].value : NULL;
}

static uint32_t node_count(const lk_session *session) {
  return (uint32_t)session->graph->n_nodes;
}

static lk_status check_node(const lk_session *session, uint32_t index, lk_error *error) {
  const size_t count = session->graph->n_nodes;
  if (index < count) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to describe node %" PRIu32 ": the model has %zu, numbered from 0", index,
                 count);
}

static lk_status node_info(const lk_session *session, uint32_t index, lk_session_node *out,
                           lk_error *error) {
  LK_REQUIRE("node_info", error, session, out);
  const lk_graph *graph = session->graph;
  LK_RETURN_NOT_OK(check_node(session, index, error));
  const lk_node *node = &graph->nodes[index];
  lk_session_node info = {.struct_size = sizeof info,
                          .op_type = node->op_type,
                          .domain = node->domain,
                          .name = node->name,
                          .output_name = "",
                          .fused = node->fused,
                          .implementation = lk_flow_implementation(session->flow, index)};
  for (uint32_t i = node->n_outputs; i-- > 0;) {
    if (node->outputs[i] != LK_NO_VALUE) info.output_name = graph->values[node->outputs[i]].name;
  }
  return lk_struct_write(out, &info, sizeof info, "lk_session_node", error);
}

static lk_status node_stats(const lk_session *session, uint32_t index, lk_node_stats *out,
                            lk_error *error) {
  LK_REQUIRE("node_stats", error, session, out);
  LK_RETURN_NOT_OK(check_node(session, index, error));
  const lk_node_stats stats = lk_flow_node_stats(session->flow, index);
  return lk_struct_write(out, &stats, sizeof stats, "lk_node_stats", error);
}

static lk_status sizes_visit(lk_session *session, lk_size_fn visit, void *arg, uint64_t *out_lost,
                             lk_error *error) {
  LK_REQUIRE("sizes_visit", error, session, visit);
  uint64_t lost = 0;
  LK_RETURN_NOT_OK(lk_flow_visit_sizes(session->flow, visit, arg, &lost, error));
  if (out_lost != NULL) *out_lost = lost;
  return LK_OK;
}

static uint32_t pass_count(const lk_session *session) {
  (void)session; /* every session has the same */
  return (uint32_t)lk_n_passes;
}

static lk_status pass_info(const lk_session *session, uint32_t index, lk_session_pass *out,
                           lk_error *error) {
  LK_REQUIRE("pass_info", error, session, out);
  if (index >= lk_n_passes) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to describe pass %" PRIu32 ": there are %zu, numbered from 0", index,
                   lk_n_passes);
  }
  const lk_session_options *options = &session->options;
  const char *name = lk_passes[index].name;
  const lk_session_pass info = {
      .struct_size = sizeof info,
      .name = name,
      .summary = lk_passes[index].summary,
      .changes = session->pass_changes[index],
      .enabled = !lk_pass_is_disabled(name, options->disabled_passes, options->n_disabled_passes)};
  return lk_struct_write(out, &info, sizeof info, "lk_session_pass", error);
}

static lk_executor *executor_of(const lk_session *session) {
  return session->executor;
}

/* ---- the table ---- */

const lk_session_api *lk_get_session_api(uint32_t version) {
  static const lk_session_api api = {
      .struct_size = sizeof(lk_session_api),
      .version = LK_SESSION_API_VERSION,
      .open = lk_session_open,
      .open_memory = lk_session_open_memory,
      .close = lk_session_close,
      .input_count = input_count,
      .output_count = output_count,
      .input_info = input_info,
      .output_info = output_info,
      .model_info = model_info,
      .metadata_key = metadata_key,
      .metadata_value = metadata_value,
      .run = lk_session_run,
      .outputs_release = lk_session_outputs_release,
      .stats = lk_session_get_stats,
      .node_count = node_count,
      .node_info = node_info,
      .pass_count = pass_count,
      .pass_info = pass_info,
      .executor = executor_of,
      .clone = lk_session_clone,
      .profile_create = lk_profile_create,
      .profile_destroy = lk_profile_destroy,
      .profile_clear = lk_profile_clear,
      .profile_info = lk_profile_info_get,
      .profile_entry = lk_profile_entry_get,
      .node_stats = node_stats,
      .sizes_visit = sizes_visit,
      .report = lk_session_report,
      .report_release = lk_session_report_release,
      .refusals_visit = lk_session_visit_refusals,
      .trace_create = lk_trace_create,
      .trace_release = lk_trace_release,
      .trace_attach = lk_session_trace_attach,
      .trace_clear = lk_trace_clear,
      .trace_info = lk_trace_info_get,
      .trace_save = lk_trace_save,
      .trace_text = lk_trace_text,
      .trace_text_release = lk_trace_text_release,
      .context_report = lk_context_report,
      .context_report_release = lk_context_report_release,
      .default_count = default_count,
      .default_info = default_info,
  };
  return version == LK_SESSION_API_VERSION ? &api : NULL;
}
