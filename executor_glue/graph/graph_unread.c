/* What a loader could not read: it is refused only where something reads it. */
#include <string.h>

#include "base/status.h"
#include "executor_glue/graph/graph.h"

#define SENTENCE "sentence"

lk_status lk_graph_leave_unread(lk_graph *graph, int32_t index, const char *sentence,
                                lk_error *error) {
  const size_t length = strlen(sentence);
  lk_attr *attr = lk_graph_alloc(graph, sizeof *attr);
  const char *copy = lk_graph_strndup(graph, sentence, length);
  if (attr == NULL || copy == NULL) return lk_fail_memory(error, "a sentence", length);
  *attr = (lk_attr){SENTENCE, LK_ATTR_STRING, (uint32_t)length, copy};
  lk_node *node = &graph->nodes[index];
  node->op_type = LK_GRAPH_UNREAD;
  node->domain = "";
  node->opset = LK_MAX_OPSET;
  node->attrs = attr;
  node->n_attrs = 1;
  return LK_OK;
}

static bool is_read(const lk_graph *graph, const lk_node *node) {
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    const int32_t value = node->outputs[i];
    if (value != LK_NO_VALUE && graph->values[value].n_uses > 0) return true;
  }
  return false;
}

lk_status lk_graph_visit_unread(const lk_graph *graph, lk_unread_fn *visit, void *arg,
                                lk_error *error) {
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    if (lk_node_is(node, LK_GRAPH_UNREAD) && is_read(graph, node)) {
      LK_RETURN_NOT_OK(visit(arg, (const char *)node->attrs[0].data, error));
    }
    for (uint32_t i = 0; i < node->n_bodies; i++) {
      LK_RETURN_NOT_OK(lk_graph_visit_unread(node->bodies[i].graph, visit, arg, error));
    }
  }
  return LK_OK;
}

static lk_status refuse(void *arg, const char *sentence, lk_error *error) {
  (void)arg;
  return lk_fail(error, LK_UNSUPPORTED, "%s", sentence);
}

/* Of a graph in which nothing reads them. */
static lk_status drop(lk_graph *graph, lk_error *error) {
  bool has_changed = false;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    for (uint32_t i = 0; i < node->n_bodies; i++) {
      LK_RETURN_NOT_OK(drop(node->bodies[i].graph, error));
    }
    if (!lk_node_is(node, LK_GRAPH_UNREAD)) continue;
    lk_graph_remove_node(graph, (int32_t)n);
    has_changed = true;
  }
  return has_changed ? lk_graph_resolve(graph, error) : LK_OK;
}

lk_status lk_graph_refuse_unread(lk_graph *graph, lk_error *error) {
  LK_RETURN_NOT_OK(lk_graph_visit_unread(graph, refuse, NULL, error));
  return drop(graph, error);
}
