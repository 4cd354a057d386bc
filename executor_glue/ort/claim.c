/* Claims nodes: asks the operators what they can run, makes groups, tells ONNX Runtime. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/ort/claims.h"
#include "executor_glue/ort/support.h"
#include "executor_glue/ort/tensor.h"

static lk_status note_path(const lk_ort *ort, const OrtGraph *graph, lk_ort_claims *claims,
                           lk_error *error) {
  const char *path = NULL;
  if (claims->model_path != NULL) return LK_OK;
  LK_RETURN_NOT_OK(lk_ort_check(ort, ort_Graph_GetModelPath(ort->api)(graph, &path),
                                "read the model's path", error));
  if (path == NULL) path = "";
  claims->model_path = lk_strdup(lk_allocator_default(), path);
  return claims->model_path != NULL ? LK_OK : lk_fail_memory(error, "a path", strlen(path));
}

/* ---- groups ---- */

static lk_status fuse_group(const lk_ort *ort, const lk_ort_import *import, const int32_t *groups,
                            int32_t group, OrtEpGraphSupportInfo *info, lk_error *error) {
  /* Originals of packed weights are not to be kept. */
  static const OrtNodeFusionOptions options = {.ort_version_supported = LK_ORT_API_VERSION,
                                               .drop_constant_initializers = true};
  const lk_graph *graph = import->graph;
  size_t count = 0;
  const OrtNode **nodes = lk_calloc(graph->allocator, graph->n_nodes, sizeof *nodes);
  if (nodes == NULL) {
    return lk_fail_memory(error, "a group of nodes", graph->n_nodes * sizeof *nodes);
  }
  for (size_t n = 0; n < graph->n_nodes; n++) {
    if (groups[n] == group) nodes[count++] = import->nodes[graph->nodes[n].source];
  }
  const lk_status status = lk_ort_check(
      ort, ort_EpGraphSupportInfo_AddNodesToFuse(ort->ep)(info, nodes, count, &options),
      "claim nodes", error);
  lk_free(graph->allocator, (void *)nodes);
  return status;
}

/* Nodes that an earlier call has claimed come back as one of a name that no operator has. */
static bool is_fused(const lk_node *node) {
  return strncmp(node->op_type, LK_ORT_PROVIDER_NAME, sizeof LK_ORT_PROVIDER_NAME - 1) == 0;
}

static lk_status note_groups(const lk_graph *graph, const lk_ort_support *support,
                             const int32_t *groups, size_t n_groups, lk_ort_claims *claims,
                             lk_error *error) {
  claims->n_subgraphs += (uint32_t)n_groups;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    if (groups[n] >= 0) {
      claims->n_claimed++;
    } else if (!is_fused(node)) {
      const char *reason = support[n].reason;
      if (reason == NULL && support[n].works)
        reason = "alone in a group, which would cost more than it gains";
      if (reason == NULL && support[n].is_sooner)
        reason = "in no group that gains, and ONNX Runtime computes it sooner";
      if (reason == NULL) reason = "in no group that computes data";
      LK_RETURN_NOT_OK(lk_ort_claims_add_left(claims, node, reason, error));
    }
  }
  return LK_OK;
}

static lk_status fuse_groups(const lk_ort *ort, const lk_ort_import *import,
                             const lk_ort_support *support, lk_ort_partition_rules rules,
                             OrtEpGraphSupportInfo *info, lk_ort_claims *claims, lk_error *error) {
  const lk_graph *graph = import->graph;
  size_t n_groups = 0;
  int32_t *groups = lk_graph_alloc(import->graph, graph->n_nodes * sizeof *groups);
  if (groups == NULL) {
    return lk_fail_memory(error, "groups of nodes", graph->n_nodes * sizeof *groups);
  }
  LK_RETURN_NOT_OK(lk_ort_partition_make(graph, support, rules, groups, &n_groups, error));
  for (size_t g = 0; g < n_groups; g++) {
    LK_RETURN_NOT_OK(fuse_group(ort, import, groups, (int32_t)g, info, error));
  }
  return note_groups(graph, support, groups, n_groups, claims, error);
}

/* ---- bodies of If, Loop and Scan ---- */

/* No inputs, or the number of the iteration and whether to go on. */
static lk_status has_inputs_of_body(const lk_ort *ort, const OrtGraph *graph, bool *out,
                                    lk_error *error) {
  static const uint32_t of_loop[] = {LK_I64, LK_BOOL};
  lk_status status = LK_OK;
  lk_ort_values inputs = {0};
  LK_TRY(lk_ort_graph_inputs(ort, graph, &inputs, error));
  *out = inputs.count != 1;
  for (size_t i = 0; i < 2 && inputs.count >= 2; i++) {
    const OrtTensorTypeAndShapeInfo *info = NULL;
    uint32_t dtype = 0;
    size_t rank = 0;
    LK_TRY(lk_ort_value_type(ort, inputs.items[i], &info, &dtype, &rank, error));
    if (dtype != of_loop[i] || rank != 0) *out = false;
  }
cleanup:
  lk_free(lk_allocator_default(), (void *)inputs.items);
  return status;
}

static lk_status node_reads_outside(const lk_ort *ort, const OrtNode *node, bool *out,
                                    lk_error *error) {
  lk_status status = LK_OK;
  lk_ort_values inputs = {0};
  LK_TRY(lk_ort_node_inputs(ort, node, &inputs, error));
  for (size_t i = 0; i < inputs.count && !*out; i++) {
    if (inputs.items[i] == NULL) continue;
    LK_TRY(lk_ort_check(ort, ort_ValueInfo_IsFromOuterScope(ort->api)(inputs.items[i], out),
                        "look for values of an outer graph", error));
  }
cleanup:
  lk_free(lk_allocator_default(), (void *)inputs.items);
  return status;
}

static lk_status reads_outside(const lk_ort *ort, const OrtGraph *graph, bool *out,
                               lk_error *error) {
  lk_status status = LK_OK;
  lk_ort_nodes nodes = {0};
  *out = false;
  LK_TRY(lk_ort_graph_nodes(ort, graph, &nodes, error));
  for (size_t i = 0; i < nodes.count && !*out; i++) {
    LK_TRY(node_reads_outside(ort, nodes.items[i], out, error));
  }
cleanup:
  lk_free(lk_allocator_default(), (void *)nodes.items);
  return status;
}

/* Before 1.24, ONNX Runtime names no parent of the graphs that it asks about. A graph is taken for
 * a body then when it reads values of an outer graph, has no inputs, as branches of If, or begins
 * with the inputs of a body of Loop. A body of Scan that reads nothing from outside is taken for a
 * model's graph: its nodes are claimed, and those of the model around it are not. */
static lk_status find_body(const lk_ort *ort, const OrtGraph *graph, const OrtNode *parent,
                           bool *out, lk_error *error) {
  *out = parent != NULL;
  if (*out || lk_ort_knows_bodies(ort)) return LK_OK;
  LK_RETURN_NOT_OK(has_inputs_of_body(ort, graph, out, error));
  return *out ? LK_OK : reads_outside(ort, graph, out, error);
}

/* Other operators with bodies are functions (SequenceMap), whose nodes take their place only after
 * their bodies have been offered. ONNX Runtime then refuses a body that has a fused node. */
static lk_status is_of_function(const lk_ort *ort, const OrtNode *parent, bool *out,
                                lk_error *error) {
  const char *op_type = NULL;
  *out = false;
  if (parent == NULL) return LK_OK;
  LK_RETURN_NOT_OK(lk_ort_check(ort, ort_Node_GetOperatorType(ort->api)(parent, &op_type),
                                "read the operator of a graph's parent", error));
  *out = strcmp(op_type, "If") != 0 && strcmp(op_type, "Loop") != 0 && strcmp(op_type, "Scan") != 0;
  return LK_OK;
}

/* ---- the whole ---- */

/* Nothing of the graph is claimed. */
static void leave_all(const lk_graph *graph, lk_ort_support *support, const char *reason) {
  for (size_t n = 0; n < graph->n_nodes; n++) {
    if (support[n].reason == NULL) support[n].reason = reason;
  }
}

lk_status lk_ort_claim(const lk_ort_context *context, bool claims_all, const OrtGraph *graph,
                       OrtEpGraphSupportInfo *info, lk_ort_claims *claims, lk_error *error) {
  lk_status status = LK_OK;
  const lk_ort *ort = context->ort;
  lk_ort_import import = {0};
  lk_ort_support *support = NULL;
  const OrtNode *parent = NULL;
  bool is_body = false, is_function = false;
  LK_TRY(lk_ort_check(ort, ort_Graph_GetParentNode(ort->api)(graph, &parent),
                      "look for a graph's parent", error));
  LK_TRY(find_body(ort, graph, parent, &is_body, error));
  LK_TRY(is_of_function(ort, parent, &is_function, error));
  LK_TRY(note_path(ort, graph, claims, error));
  LK_TRY(lk_ort_import_create(context, graph, NULL, &import, error));
  const lk_ort_asks asks = {.takes_all = claims_all, .is_body = is_body};
  LK_TRY(lk_ort_support_find(context, &import, asks, &support, error));
  if (!lk_ort_knows_bodies(ort) && (is_body || claims->n_subgraphs > 0)) {
    leave_all(import.graph, support,
              "of one of several graphs: ONNX Runtime 1.24 or newer is needed");
  }
  if (is_function) leave_all(import.graph, support, "in the body of a function");
  const lk_ort_partition_rules rules = {.takes_lone = claims_all, .is_body = is_body};
  LK_TRY(fuse_groups(ort, &import, support, rules, info, claims, error));
  if (!is_body) claims->is_complete = true;
cleanup:
  lk_ort_import_destroy(&import);
  return status;
}
