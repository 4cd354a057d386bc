/* What keeps a graph from running: asks the operators' own rules about each node. */
#include "executor_glue/flow/missing.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/flow/lists.h"
#include "executor_glue/flow/scan.h"
#include "executor_glue/graph/own_ops.h"
#include "executor_glue/passes/symbolic_shapes.h"
#include "executor_glue/run/program.h"

/* The output's name in the sentence of a refusal, which ends the part that names the node. */
#define ANY_NAME "*"
#define END_OF_NAME "'" ANY_NAME "': "

typedef struct finder {
  const lk_api *api;
  const lk_graph *graph;
  lk_symbolic_shapes *shapes;
  lk_question question;
  lk_missing_fn *found;
  void *arg;
  lk_error *error;
} finder;

static void write_types(const finder *self, const lk_node *node, char *text, size_t capacity) {
  size_t used = 0;
  text[0] = '\0';
  const uint32_t own = node->n_inputs - lk_node_captured(node);
  for (uint32_t i = 0; i < own && used < capacity; i++) {
    const int32_t value = node->inputs[i];
    const uint32_t dtype =
        value != LK_NO_VALUE ? lk_symbolic_shape_dtype(self->shapes, value) : LK_DTYPE_NONE;
    const char *type = value == LK_NO_VALUE ? "-" : lk_dtype_name(dtype);
    const int length = snprintf(text + used, capacity - used, "%s%s", i > 0 ? ", " : "", type);
    used += (size_t)length;
  }
}

static lk_status tell(const finder *self, const lk_node *node, const char *types,
                      const char *reason) {
  const lk_missing_node missing = {.op_type = node->op_type,
                                   .domain = node->domain,
                                   .opset = node->opset,
                                   .scope = self->graph->scope,
                                   .label = lk_node_label(self->graph, node),
                                   .types = types,
                                   .reason = reason};
  return self->found(self->arg, &missing, self->error);
}

/* Without the part that names the node: nodes of a kind have one reason. */
static lk_status tell_refusal(const finder *self, const lk_node *node, const char *sentence) {
  char types[128] = "";
  const char *behind = strstr(sentence, END_OF_NAME);
  /* without a row, types do not matter */
  if (lk_graph_find_row(self->api, self->graph, node) != NULL) {
    write_types(self, node, types, sizeof types);
  }
  if (behind != NULL) return tell(self, node, types, behind + strlen(END_OF_NAME));
  while ((behind = strstr(sentence, ": ")) != NULL) sentence = behind + 2;
  return tell(self, node, types, sentence);
}

static void fill_question(const finder *self, const lk_node *node) {
  const lk_question *q = &self->question;
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const int32_t value = node->inputs[i];
    q->inputs[i] = (lk_tensor){.desc.rank = LK_RANK_UNKNOWN};
    q->elements[i] = NULL;
    q->flags[i] = (lk_node_input){.flags = value == LK_NO_VALUE ? LK_INPUT_ABSENT : 0};
    if (value == LK_NO_VALUE) continue;
    (void)lk_symbolic_shape_desc(self->shapes, value, &q->inputs[i].desc);
    q->inputs[i].data = lk_symbolic_value(&self->graph->values[value], q->values[i]);
    q->elements[i] = self->shapes->elements[value];
  }
}

static lk_status check_operator(const finder *self, const lk_node *node) {
  const lk_question *q = &self->question;
  lk_error why;
  if (node->n_outputs == 0) return tell(self, node, "", "it has no outputs");
  fill_question(self, node);
  lk_node_desc desc = lk_node_describe(self->graph, node, q->flags);
  desc.output_name = ANY_NAME;
  int64_t elements[LK_MAX_VALUES];
  const lk_status status = self->api->op_infer_values(
      self->shapes->dims, &desc, q->inputs, q->elements, q->outputs, NULL, elements, &why);
  if (status == LK_OK) return LK_OK;
  if (status == LK_OUT_OF_MEMORY) return lk_fail(self->error, status, "%s", why.message);
  return tell_refusal(self, node, why.message);
}

/* No operator of the table: what a load left out, or one on sequences, which flows run. */
static bool is_of_list(const lk_graph *graph, const lk_node *node) {
  return lk_node_is(node, LK_GRAPH_UNREAD) || lk_flow_list_find(graph, node) != NULL;
}

/* Flows also run three operators with bodies themselves. */
static lk_status check_node(const finder *self, const lk_node *node) {
  if (is_of_list(self->graph, node)) return LK_OK;
  if (lk_node_is(node, "If") || lk_node_is(node, "Loop") || lk_node_is(node, "Scan")) {
    if (node->n_bodies == 0) return tell(self, node, "", "it has no body");
    const bool is_old = lk_node_is(node, "Scan") && node->opset < LK_SCAN_SINCE;
    return is_old ? tell(self, node, "", LK_SCAN_IS_OLD) : LK_OK;
  }
  if (node->n_bodies > 0)
    return tell(self, node, "", "it has a body, as only If, Loop and Scan may");
  return check_operator(self, node);
}

static lk_status find(const lk_api *api, const lk_graph *graph, lk_missing_fn *found, void *arg,
                      lk_error *error) {
  lk_status status = LK_OK;
  finder self = {.api = api, .graph = graph, .found = found, .arg = arg, .error = error};
  LK_TRY(lk_symbolic_shapes_create(api, graph, &self.shapes, error));
  LK_TRY(lk_question_create(graph, &self.question, error));
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    LK_TRY(check_node(&self, node));
    for (uint32_t i = 0; i < node->n_bodies; i++) {
      LK_TRY(find(api, node->bodies[i].graph, found, arg, error));
    }
  }
cleanup:
  lk_question_destroy(graph, &self.question);
  lk_symbolic_shapes_destroy(self.shapes);
  return status;
}

lk_status lk_flow_find_missing(const lk_api *api, lk_graph *graph, lk_missing_fn *found, void *arg,
                               lk_error *error) {
  LK_RETURN_NOT_OK(lk_flow_find_kinds(graph, error));
  return find(api, graph, found, arg, error);
}

/* ---- types ---- */

static lk_status check_types(const lk_api *api, const lk_graph *graph, lk_symbolic_shapes *shapes,
                             const lk_question *q, const lk_node *node, lk_error *error) {
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const int32_t value = node->inputs[i];
    q->inputs[i] = (lk_tensor){.desc.rank = LK_RANK_UNKNOWN};
    q->flags[i] = (lk_node_input){.flags = value == LK_NO_VALUE ? LK_INPUT_ABSENT : 0};
    if (value == LK_NO_VALUE) continue;
    q->inputs[i].desc.dtype = lk_symbolic_shape_dtype(shapes, value);
  }
  const lk_node_desc desc = lk_node_describe(graph, node, q->flags);
  lk_status status = api->op_infer(shapes->dims, &desc, q->inputs, q->outputs, NULL, error);
  if (status == LK_OK) return LK_OK;
  /* a sentence that names what failed needs no other verb before it */
  if (error == NULL || strncmp(error->message, "failed to ", strlen("failed to ")) != 0) {
    status = lk_error_prefix(error, status, "failed to check types");
  }
  return lk_program_name_node(graph, node, status, error);
}

lk_status lk_flow_check_types(const lk_api *api, const lk_graph *graph, lk_symbolic_shapes *shapes,
                              lk_error *error) {
  lk_status status = LK_OK;
  lk_question question = {0};
  LK_TRY(lk_question_create(graph, &question, error));
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    if (node->dead || node->n_bodies > 0 || node->n_outputs == 0 || is_of_list(graph, node)) {
      continue;
    }
    LK_TRY(check_types(api, graph, shapes, &question, node, error));
  }
cleanup:
  lk_question_destroy(graph, &question);
  return status;
}
