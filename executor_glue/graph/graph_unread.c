/* What a loader could not read: it is refused only where something reads it. */
#include <string.h>

#include "base/status.h"
#include "executor_glue/graph/graph.h"

#define STATUS "status"
#define SENTENCE "sentence"

bool lk_graph_may_leave_unread(lk_status status) {
  return status == LK_UNSUPPORTED || status == LK_MALFORMED || status == LK_OUT_OF_RANGE ||
         status == LK_NOT_FOUND || status == LK_IO; /* the last two: of another file */
}

lk_status lk_graph_leave_unread(lk_graph *graph, int32_t index, const lk_error *why,
                                lk_error *error) {
  const size_t length = strlen(why->message);
  lk_attr *attrs = lk_graph_alloc(graph, 2 * sizeof *attrs);
  int64_t *status = lk_graph_alloc(graph, sizeof *status);
  const char *sentence = lk_graph_strndup(graph, why->message, length);
  if (attrs == NULL || status == NULL || sentence == NULL) {
    return lk_fail_memory(error, "a sentence", length);
  }
  *status = why->status;
  attrs[0] = (lk_attr){STATUS, LK_ATTR_INTS, 1, status};
  attrs[1] = (lk_attr){SENTENCE, LK_ATTR_STRING, (uint32_t)length, sentence};
  lk_node *node = &graph->nodes[index];
  node->op_type = LK_GRAPH_UNREAD;
  node->domain = "";
  node->opset = LK_MAX_OPSET;
  node->attrs = attrs;
  node->n_attrs = 2;
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
      const lk_status status = (lk_status) * (const int64_t *)node->attrs[0].data;
      LK_RETURN_NOT_OK(visit(arg, status, (const char *)node->attrs[1].data, error));
    }
    for (uint32_t i = 0; i < node->n_bodies; i++) {
      LK_RETURN_NOT_OK(lk_graph_visit_unread(node->bodies[i].graph, visit, arg, error));
    }
  }
  return LK_OK;
}

static lk_status refuse(void *arg, lk_status status, const char *sentence, lk_error *error) {
  (void)arg;
  return lk_fail(error, status, "%s", sentence);
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
