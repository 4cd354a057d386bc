/* Questions to a session: inputs, outputs, the file, metadata, statistics, nodes, passes. */
#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/struct.h"
#include "executor_glue/passes/pass.h"
#include "executor_glue/session/session.h"

uint32_t lk_session_input_count(const lk_session *session) {
  return (uint32_t)session->graph->n_inputs;
}

uint32_t lk_session_output_count(const lk_session *session) {
  return (uint32_t)session->graph->n_outputs;
}

static lk_status fill_value(const lk_session *session, const int32_t *values, size_t count,
                            const char *what, uint32_t index, lk_value_info *out, lk_error *error) {
  if (index >= count) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to describe %s %" PRIu32 ": the model has %zu",
                   what, index, count);
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

lk_status lk_session_model_info(const lk_session *session, lk_model_info *out, lk_error *error) {
  return lk_struct_write(out, &session->graph->model, sizeof session->graph->model, "lk_model_info",
                         error);
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
  lk_session_stats stats = {.struct_size = sizeof stats,
                            .nodes_in_file = session->graph->n_nodes_in_file,
                            .nodes = session->graph->n_nodes,
                            .constants = session->n_constants,
                            .weights_bytes = session->constant_bytes,
                            .load_ns = session->load_ns};
  lk_graph_executor_stats(session->graph_executor, &stats);
  return lk_struct_write(out, &stats, sizeof stats, "lk_session_stats", error);
}

uint32_t lk_session_node_count(const lk_session *session) {
  return (uint32_t)session->graph->n_nodes;
}

lk_status lk_session_node_info(const lk_session *session, uint32_t index, lk_session_node *out,
                               lk_error *error) {
  const lk_graph *graph = session->graph;
  if (index >= graph->n_nodes) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to describe node %" PRIu32 ": the model has %zu",
                   index, graph->n_nodes);
  }
  const lk_node *node = &graph->nodes[index];
  lk_session_node info = {
      .struct_size = sizeof info,
      .op_type = node->op_type,
      .domain = node->domain,
      .name = node->name,
      .output_name = "",
      .fused = node->fused,
      .implementation = lk_graph_executor_implementation(session->graph_executor, index),
      .runs_on_onednn = (lk_graph_executor_op_info(session->graph_executor, index)->row->flags &
                         LK_OP_ON_ONEDNN) != 0
                            ? 1U
                            : 0U};
  for (uint32_t i = node->n_outputs; i-- > 0;) {
    if (node->outputs[i] != LK_NO_VALUE) info.output_name = graph->values[node->outputs[i]].name;
  }
  return lk_struct_write(out, &info, sizeof info, "lk_session_node", error);
}

uint32_t lk_session_pass_count(const lk_session *session) {
  (void)session; /* every session has the same */
  return (uint32_t)lk_n_passes;
}

lk_status lk_session_pass_info(const lk_session *session, uint32_t index, lk_session_pass *out,
                               lk_error *error) {
  if (index >= lk_n_passes) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to describe pass %" PRIu32 ": there are %zu",
                   index, lk_n_passes);
  }
  const lk_session_pass info = {.struct_size = sizeof info,
                                .name = lk_passes[index].name,
                                .summary = lk_passes[index].summary,
                                .changes = session->pass_changes[index],
                                .enabled = session->pass_enabled[index]};
  return lk_struct_write(out, &info, sizeof info, "lk_session_pass", error);
}

lk_executor *lk_session_executor(const lk_session *session) {
  return session->executor;
}
