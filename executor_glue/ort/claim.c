/* Which nodes of a graph the provider takes: asks the operators, makes groups, tells ONNX Runtime. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/ort/body.h"
#include "executor_glue/ort/import.h"
#include "executor_glue/ort/partition.h"
#include "executor_glue/ort/provider.h"
#include "executor_glue/ort/support.h"

/* ---- notes ------------------------------------------------------------------------------------- */

static lk_status note_left(lk_ort_claims *claims, const lk_node *node, const char *reason,
                           lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  lk_ort_left *left = claims->left;
  claims->n_left++;
  while (left != NULL &&
         (strcmp(left->op_type, node->op_type) != 0 || strcmp(left->domain, node->domain) != 0 ||
          strcmp(left->reason, reason) != 0)) {
    left = left->next;
  }
  if (left == NULL) {
    left = lk_calloc(allocator, 1, sizeof *left);
    if (left == NULL) return lk_fail_memory(error, "a note on a node", sizeof *left);
    left->next = claims->left;
    claims->left = left;
    left->op_type = lk_strdup(allocator, node->op_type);
    left->domain = lk_strdup(allocator, node->domain);
    left->reason = lk_strdup(allocator, reason);
    if (left->op_type == NULL || left->domain == NULL || left->reason == NULL) {
      claims->left = left->next;
      lk_free(allocator, left->op_type);
      lk_free(allocator, left->domain);
      lk_free(allocator, left->reason);
      lk_free(allocator, left);
      return lk_fail_memory(error, "a note on a node", 0);
    }
  }
  left->count++;
  return LK_OK;
}

void lk_ort_claims_end(lk_ort_claims *claims) {
  const lk_allocator *allocator = lk_allocator_default();
  while (claims->left != NULL) {
    lk_ort_left *next = claims->left->next;
    lk_free(allocator, claims->left->op_type);
    lk_free(allocator, claims->left->domain);
    lk_free(allocator, claims->left->reason);
    lk_free(allocator, claims->left);
    claims->left = next;
  }
  lk_free(allocator, claims->model_path);
  *claims = (lk_ort_claims){0};
}

static lk_status note_path(lk_ort_provider *provider, const OrtGraph *graph, lk_error *error) {
  const char *path = NULL;
  if (provider->claims.model_path != NULL) return LK_OK;
  const lk_status status =
      lk_ort_check(provider->ort, ort_Graph_GetModelPath(provider->ort->api)(graph, &path),
                   "read the model's path", error);
  if (status != LK_OK) return status;
  provider->claims.model_path = lk_strdup(lk_allocator_default(), path != NULL ? path : "");
  return provider->claims.model_path != NULL ? LK_OK : lk_fail_memory(error, "a path", 0);
}

/* ---- groups ------------------------------------------------------------------------------------ */

static lk_status fuse_group(const lk_ort_provider *provider, const lk_ort_import *import,
                            const int32_t *groups, int32_t group, OrtEpGraphSupportInfo *info,
                            lk_error *error) {
  /* Originals of packed weights are not to be kept. */
  static const OrtNodeFusionOptions options = {.ort_version_supported = LK_ORT_API_VERSION,
                                               .drop_constant_initializers = true};
  const lk_graph *graph = import->graph;
  size_t count = 0;
  const OrtNode **nodes = lk_calloc(graph->allocator, graph->n_nodes, sizeof *nodes);
  if (nodes == NULL) return lk_fail_memory(error, "a group of nodes", graph->n_nodes * 8);
  for (size_t n = 0; n < graph->n_nodes; n++) {
    if (groups[n] == group) nodes[count++] = import->nodes[graph->nodes[n].source];
  }
  const lk_status status = lk_ort_check(
      provider->ort,
      ort_EpGraphSupportInfo_AddNodesToFuse(provider->ort->ep)(info, nodes, count, &options),
      "claim nodes", error);
  lk_free(graph->allocator, (void *)nodes);
  return status;
}

/* Nodes that an earlier call has claimed come back as one of a name that no operator has. */
static bool is_fused(const lk_node *node) {
  return strncmp(node->op_type, LK_ORT_PROVIDER_NAME, sizeof LK_ORT_PROVIDER_NAME - 1) == 0;
}

static lk_status fuse_groups(lk_ort_provider *provider, const lk_ort_import *import,
                             const lk_ort_support *support, OrtEpGraphSupportInfo *info,
                             lk_error *error) {
  lk_status status = LK_OK;
  const lk_graph *graph = import->graph;
  size_t n_groups = 0;
  bool *supported = lk_graph_alloc(import->graph, graph->n_nodes * sizeof *supported);
  int32_t *groups = lk_graph_alloc(import->graph, graph->n_nodes * sizeof *groups);
  if (supported == NULL || groups == NULL) {
    return lk_fail_memory(error, "groups of nodes", graph->n_nodes * sizeof *groups);
  }
  for (size_t n = 0; n < graph->n_nodes; n++) supported[n] = support->reasons[n] == NULL;
  const lk_ort_partition_input input = {graph, supported, support->works, support->shape_inputs,
                                        support->shape_only};
  LK_TRY(lk_ort_partition_make(&input, groups, &n_groups, error));
  for (size_t g = 0; g < n_groups; g++) {
    LK_TRY(fuse_group(provider, import, groups, (int32_t)g, info, error));
  }
  lk_ort_claims *claims = &provider->claims;
  claims->n_subgraphs += (uint32_t)n_groups;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    if (groups[n] >= 0) {
      claims->n_claimed++;
    } else if (!is_fused(node)) {
      const char *reason = support->reasons[n];
      if (reason == NULL) reason = "in no group that computes data on oneDNN";
      LK_TRY(note_left(claims, node, reason, error));
    }
  }
cleanup:
  return status;
}

/* Nothing of the graph is claimed. */
static void leave_all(const lk_graph *graph, lk_ort_support *support, const char *reason) {
  for (size_t n = 0; n < graph->n_nodes; n++) {
    if (support->reasons[n] == NULL) support->reasons[n] = reason;
  }
}

/* ---- the whole --------------------------------------------------------------------------------- */

lk_status lk_ort_claim(lk_ort_provider *provider, const OrtGraph *graph,
                       OrtEpGraphSupportInfo *info, lk_error *error) {
  lk_status status = LK_OK;
  const lk_api *latchkey = provider->ort->latchkey;
  lk_context *context = lk_ort_provider_context(provider);
  const lk_allocator *allocator = latchkey->context_allocator(context);
  lk_ort_import import = {0};
  lk_ort_support support;
  bool is_body = false;
  LK_TRY(lk_ort_is_body(provider->ort, graph, &is_body, error));
  LK_TRY(note_path(provider, graph, error));
  LK_TRY(lk_ort_import_graph(provider->ort, allocator, graph, NULL, &import, error));
  LK_TRY(lk_ort_support_find(provider->ort, &import, &support, error));
  if (!lk_ort_knows_bodies(provider->ort) && (is_body || provider->claims.n_subgraphs > 0)) {
    leave_all(import.graph, &support,
              "of one of several graphs: ONNX Runtime 1.24 or newer is needed");
  }
  LK_TRY(fuse_groups(provider, &import, &support, info, error));
  if (!is_body) {
    /* The last of a session's graphs: those inside its nodes come before. */
    char line[1024];
    lk_ort_report_line(provider, line, sizeof line);
    lk_ort_log(provider->ort, provider->logger, ORT_LOGGING_LEVEL_INFO, line);
  }
cleanup:
  lk_ort_import_end(allocator, &import);
  return status;
}
