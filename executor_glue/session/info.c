/* Questions to a session: inputs, outputs, metadata, statistics, nodes, passes. */
#include <inttypes.h>
#include <string.h>

#include "executor_glue/graph/pass.h"
#include "executor_glue/session/session.h"
#include "plugin/base/status.h"

uint32_t lk_session_input_count(const lk_session *session) {
  return (uint32_t)session->graph->n_inputs;
}

uint32_t lk_session_output_count(const lk_session *session) {
  return (uint32_t)session->graph->n_outputs;
}

static lk_status fill_value(const lk_session *session, const int32_t *values, size_t count,
                            const char *what, uint32_t index, lk_value_info *out, lk_error *error) {
  lk_status status = lk_session_check_struct(out, sizeof *out, "lk_value_info", false, error);
  if (status != LK_OK) return status;
  if (index >= count) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to describe %s %" PRIu32 ": the model has %zu",
                   what, index, count);
  }
  const lk_value *value = &session->graph->values[values[index]];
  out->name = value->name;
  out->dtype = value->dtype;
  out->rank = value->rank;
  for (int32_t i = 0; i < LK_MAX_RANK; i++) {
    out->dims[i] = i < value->rank ? value->dims[i] : 0;
    out->symbols[i] = i < value->rank && value->symbols[i] != NULL ? value->symbols[i] : "";
  }
  return LK_OK;
}

lk_status lk_session_input_info(const lk_session *session, uint32_t index, lk_value_info *out,
                                lk_error *error) {
  const lk_graph *graph = session->graph;
  return fill_value(session, graph->inputs, graph->n_inputs, "input", index, out, error);
}

lk_status lk_session_output_info(const lk_session *session, uint32_t index, lk_value_info *out,
                                 lk_error *error) {
  const lk_graph *graph = session->graph;
  return fill_value(session, graph->outputs, graph->n_outputs, "output", index, out, error);
}

const char *lk_session_metadata_key(const lk_session *session, uint32_t index) {
  return index < session->graph->n_metadata ? session->graph->metadata[index].key : NULL;
}

const char *lk_session_metadata_value(const lk_session *session, const char *key) {
  for (size_t i = 0; key != NULL && i < session->graph->n_metadata; i++) {
    if (strcmp(session->graph->metadata[i].key, key) == 0) return session->graph->metadata[i].value;
  }
  return NULL;
}

lk_status lk_session_get_stats(lk_session *session, lk_session_stats *out, lk_error *error) {
  lk_status status = lk_session_check_struct(out, sizeof *out, "lk_session_stats", false, error);
  if (status != LK_OK) return status;
  out->nodes_in_file = session->graph->n_nodes_in_file;
  out->nodes = session->graph->n_nodes;
  out->constants = session->n_constants;
  out->weights_bytes = session->constant_bytes;
  out->load_ns = session->load_ns;
  lk_graph_executor_stats(session->graph_executor, out);
  return LK_OK;
}

uint32_t lk_session_node_count(const lk_session *session) {
  return (uint32_t)session->graph->n_nodes;
}

lk_status lk_session_node_info(const lk_session *session, uint32_t index, lk_session_node *out,
                               lk_error *error) {
  lk_status status = lk_session_check_struct(out, sizeof *out, "lk_session_node", false, error);
  if (status != LK_OK) return status;
  const lk_graph *graph = session->graph;
  if (index >= graph->n_nodes) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to describe node %" PRIu32 ": the model has %zu",
                   index, graph->n_nodes);
  }
  const lk_node *node = &graph->nodes[index];
  out->op_type = node->op_type;
  out->domain = node->domain;
  out->name = node->name;
  out->fused = node->fused;
  out->output_name = "";
  for (uint32_t i = node->n_outputs; i-- > 0;) {
    if (node->outputs[i] != LK_NO_VALUE) out->output_name = graph->values[node->outputs[i]].name;
  }
  out->implementation = lk_graph_executor_implementation(session->graph_executor, index);
  out->runs_on_onednn =
      lk_graph_executor_op_info(session->graph_executor, index)->runs_on_onednn;
  out->reserved = 0;
  return LK_OK;
}

int lk_session_pass_info(const lk_session *session, uint32_t index, lk_session_pass *out) {
  if (index >= lk_n_passes || out == NULL) return 0;
  *out = (lk_session_pass){.name = lk_passes[index].name,
                           .summary = lk_passes[index].summary,
                           .changes = session->pass_changes[index],
                           .enabled = session->pass_enabled[index]};
  return 1;
}

lk_executor *lk_session_executor(const lk_session *session) {
  return session->executor;
}
