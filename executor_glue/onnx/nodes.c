/* Nodes into the graph IR, with their attributes and bodies. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/onnx/attribute.h"
#include "executor_glue/onnx/builder.h"
#include "executor_glue/onnx/constant.h"

/* Of a lenient source, the nearest opset of ai.onnx that has rows: that the model's is another one
 * has been told. */
static int64_t nearest_opset(const char *domain, int64_t version) {
  if (domain[0] != '\0') return version;
  return version < LK_MIN_OPSET ? LK_MIN_OPSET : version > LK_MAX_OPSET ? LK_MAX_OPSET : version;
}

static lk_status find_opset(const lk_onnx_builder *b, const lk_onnx_scope *scope,
                            const Onnx__NodeProto *node, int32_t *out) {
  const char *domain = lk_onnx_domain(node->domain);
  for (size_t i = 0; i < scope->n_opsets; i++) {
    if (strcmp(domain, lk_onnx_domain(scope->opsets[i]->domain)) == 0) {
      *out = (int32_t)nearest_opset(domain, scope->opsets[i]->version);
      return LK_OK;
    }
  }
  return lk_fail(b->error, LK_MALFORMED,
                 "failed to read node '%s' (%s): %s imports no opset of domain '%s', opset_import "
                 "must have one",
                 lk_onnx_node_label(node), node->op_type,
                 scope->call != NULL ? "its function" : "the model",
                 domain[0] == '\0' ? "ai.onnx" : domain);
}

/* "a/b" of "a/" and "b". */
static lk_status join(lk_graph *graph, const char *first, const char *second, const char **out,
                      lk_error *error) {
  const char *text = second != NULL ? second : "";
  const size_t bytes = strlen(first) + strlen(text) + 1;
  char *joined = lk_graph_alloc(graph, bytes);
  *out = joined;
  if (joined == NULL) return lk_fail_memory(error, "a text of a model", bytes);
  (void)snprintf(joined, bytes, "%s%s", first, text);
  return LK_OK;
}

/* ---- bodies ---- */

/* "scope/node.attribute", with a number behind it where another body of the model has it: nodes may
 * have equal names, and a function may be called twice. The run plans of a body are found by it. */
static lk_status name_body(lk_onnx_builder *b, const lk_graph *around, const char *label,
                           const char *attribute, lk_graph *body) {
  const size_t bytes = strlen(around->scope) + strlen(label) + strlen(attribute) + 3;
  char *whole = lk_graph_alloc(body, bytes), *numbered = NULL;
  const char *scope = whole;
  if (whole == NULL) return lk_fail_memory(b->error, "the scope of a body", bytes);
  (void)snprintf(whole, bytes, "%s/%s.%s", around->scope, label, attribute);
  if (b->scopes.slots == NULL) {
    LK_RETURN_NOT_OK(lk_value_names_create(body, 0, &b->scopes, b->error));
  }
  LK_RETURN_NOT_OK(lk_value_names_number(&b->scopes, scope, &numbered, b->error));
  if (numbered != NULL) {
    scope = lk_graph_strndup(body, numbered, strlen(numbered));
    lk_free(b->scopes.allocator, numbered);
    if (scope == NULL) return lk_fail_memory(b->error, "the scope of a body", bytes);
  }
  body->scope = scope;
  return lk_value_names_put(&b->scopes, scope, 0, b->error);
}

/* A body, and in `out_scope`, which the caller destroys, what it has captured. */
static lk_status read_body(lk_onnx_builder *b, lk_onnx_scope *around, const char *label,
                           const Onnx__AttributeProto *a, lk_onnx_scope *out_scope, lk_body *out) {
  lk_status status = LK_OK;
  lk_graph *graph = NULL;
  lk_error *error = b->error;
  LK_TRY(lk_graph_create(around->graph->allocator, &graph, error));
  graph->limit = around->graph->limit;
  graph->context = around->graph->context;
  if (!lk_graph_charge(graph, sizeof *graph)) {
    LK_TRY(lk_fail_memory(error, "a body", sizeof *graph));
  }
  LK_TRY(name_body(b, around->graph, label, a->name, graph));
  LK_TRY(lk_onnx_scope_of_graph(graph, around, lk_onnx_count_names(a->g), out_scope, error));
  LK_TRY(b->fill(b, out_scope, a->g));
  LK_TRY(lk_graph_link(graph, error));
  graph->n_nodes_in_file = a->g->n_node;
  *out = (lk_body){.name = lk_graph_strndup(around->graph, a->name, strlen(a->name)),
                   .graph = graph,
                   .n_captured = (uint32_t)out_scope->n_captured};
  if (out->name == NULL) LK_TRY(lk_fail_memory(error, "the name of a body", strlen(a->name)));
  graph = NULL;
cleanup:
  /* the index of names goes before the graph that it belongs to */
  if (graph != NULL && out_scope->graph == graph) lk_onnx_scope_destroy(out_scope);
  lk_graph_destroy(graph);
  return status;
}

/* What a body has captured becomes the node's last inputs. */
static lk_status append_captured(lk_graph *graph, int32_t index, const lk_onnx_scope *body,
                                 lk_error *error) {
  lk_node *node = &graph->nodes[index];
  const size_t n_inputs = node->n_inputs + body->n_captured, bytes = n_inputs * sizeof(int32_t);
  if (n_inputs > UINT32_MAX / 2) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to read node '%s': %zu inputs", node->name,
                   n_inputs);
  }
  int32_t *inputs = lk_graph_alloc(graph, bytes);
  if (inputs == NULL) return lk_fail_memory(error, "inputs of a node", bytes);
  memcpy(inputs, node->inputs, node->n_inputs * sizeof *inputs);
  if (body->n_captured > 0) {
    memcpy(inputs + node->n_inputs, body->captured, body->n_captured * sizeof *inputs);
  }
  node->inputs = inputs;
  node->n_inputs = (uint32_t)n_inputs;
  return LK_OK;
}

static lk_status read_bodies(lk_onnx_builder *b, lk_onnx_scope *scope, int32_t index,
                             const Onnx__NodeProto *proto) {
  lk_status status = LK_OK;
  lk_graph *graph = scope->graph;
  lk_onnx_scope body = {0};
  uint32_t count = 0;
  for (size_t i = 0; i < proto->n_attribute; i++) count += proto->attribute[i]->g != NULL;
  if (count == 0) return LK_OK;
  lk_body *bodies = lk_graph_alloc(graph, count * sizeof *bodies);
  if (bodies == NULL) return lk_fail_memory(b->error, "bodies", count * sizeof *bodies);
  graph->nodes[index].bodies = bodies;
  const char *label = lk_onnx_node_label(proto);
  for (size_t i = 0; i < proto->n_attribute; i++) {
    if (proto->attribute[i]->g == NULL) continue;
    LK_TRY(read_body(b, scope, label, proto->attribute[i], &body,
                     &bodies[graph->nodes[index].n_bodies]));
    graph->nodes[index].n_bodies++;
    LK_TRY(append_captured(graph, index, &body, b->error));
    lk_onnx_scope_destroy(&body);
  }
cleanup:
  if (body.graph != NULL) lk_onnx_scope_destroy(&body);
  return status;
}

/* ---- nodes ---- */

/* Before the nodes themselves: a node may stand before the one that makes its input. */
static lk_status add_outputs(lk_onnx_builder *b, lk_onnx_scope *scope,
                             Onnx__NodeProto *const *nodes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    LK_RETURN_NOT_OK(lk_step(b->error));
    for (size_t j = 0; j < nodes[i]->n_output; j++) {
      const char *name = nodes[i]->output[j];
      int32_t value = LK_NO_VALUE;
      if (!lk_onnx_given(name)) continue;
      /* outputs of a function have the values that its call gave them; linking finds those that
         are made twice */
      if (scope->call != NULL && lk_value_names_find(&scope->names, name) >= 0) continue;
      LK_RETURN_NOT_OK(lk_onnx_scope_add(scope, name, "a node's output", &value, b->error));
    }
  }
  return LK_OK;
}

static lk_status add_constant(lk_onnx_builder *b, lk_onnx_scope *scope, const Onnx__NodeProto *node,
                              int32_t opset) {
  int32_t value = LK_NO_VALUE;
  if (node->n_output != 1 || !lk_onnx_given(node->output[0]) || node->n_input != 0) {
    return lk_fail(b->error, LK_MALFORMED,
                   "failed to read node '%s' (Constant): it has %zu inputs and %zu outputs, no "
                   "input and one output are allowed",
                   lk_onnx_node_label(node), node->n_input, node->n_output);
  }
  LK_RETURN_NOT_OK(lk_onnx_scope_find(scope, node->output[0], &value, b->error));
  const lk_value *made = &scope->graph->values[value];
  if (made->constant_kind != LK_CONSTANT_NONE || made->is_input) {
    return lk_fail(b->error, LK_MALFORMED,
                   "failed to read node '%s' (Constant): its output '%s' is made before, each name "
                   "must be made once",
                   lk_onnx_node_label(node), made->name);
  }
  const lk_status status =
      lk_onnx_constant_from_node(b->source, scope, value, node, opset, b->error);
  return lk_onnx_constant_forgive(scope->graph, value, status, b->error);
}

/* What an input is charged that is looked for in a call, beside what it takes: there may be as many
 * as a node has in the file for each call, and what is allowed bounds the time, too. */
enum { LOOKED_FOR_BYTES = 16 };

static lk_status find_inputs(lk_onnx_builder *b, lk_onnx_scope *scope, const Onnx__NodeProto *proto,
                             int32_t index) {
  const size_t bytes = b->calls > 0 ? proto->n_input * LOOKED_FOR_BYTES : 0;
  if (!lk_graph_charge(scope->graph, bytes)) return lk_fail_memory(b->error, "inputs", bytes);
  for (size_t i = 0; i < proto->n_input; i++) {
    int32_t value = LK_NO_VALUE;
    if (!lk_onnx_given(proto->input[i])) continue;
    LK_RETURN_NOT_OK(lk_onnx_scope_find(scope, proto->input[i], &value, b->error));
    if (value == LK_NO_VALUE) {
      return lk_fail(b->error, LK_MALFORMED,
                     "failed to read node '%s' (%s): its input '%s' is not an input, an "
                     "initializer, or made by a node before it",
                     lk_onnx_node_label(proto), proto->op_type, proto->input[i]);
    }
    scope->graph->nodes[index].inputs[i] = value >= 0 ? value : LK_NO_VALUE;
  }
  return LK_OK;
}

static bool has_output(const Onnx__NodeProto *node) {
  for (size_t i = 0; i < node->n_output; i++) {
    if (lk_onnx_given(node->output[i])) return true;
  }
  return false;
}

static lk_status add_node(lk_onnx_builder *b, lk_onnx_scope *scope, const Onnx__NodeProto *proto) {
  int32_t index = LK_NO_NODE, opset = 0;
  lk_graph *graph = scope->graph;
  const char *label = lk_onnx_node_label(proto);
  if (!lk_onnx_given(proto->op_type)) {
    return lk_fail(b->error, LK_MALFORMED,
                   "failed to read node '%s': it has no op_type, it is required", label);
  }
  const Onnx__FunctionProto *function = lk_onnx_function_find(b, proto);
  if (function != NULL) return lk_onnx_function_inline(b, scope, proto, function);
  LK_RETURN_NOT_OK(find_opset(b, scope, proto, &opset));
  if (strcmp(proto->op_type, "Constant") == 0 && lk_onnx_domain(proto->domain)[0] == '\0') {
    return add_constant(b, scope, proto, opset);
  }
  if (!has_output(proto)) return LK_OK; /* nothing can read what it computes */
  /* The scan has bounded the three counts. */
  LK_RETURN_NOT_OK(lk_graph_add_node(graph, (uint32_t)proto->n_input, (uint32_t)proto->n_output,
                                     (uint32_t)proto->n_attribute, &index, b->error));
  lk_node *node = &graph->nodes[index];
  node->opset = opset;
  LK_RETURN_NOT_OK(join(graph, "", proto->op_type, &node->op_type, b->error));
  LK_RETURN_NOT_OK(join(graph, "", lk_onnx_domain(proto->domain), &node->domain, b->error));
  LK_RETURN_NOT_OK(join(graph, lk_onnx_given(proto->name) ? scope->prefix : "", proto->name,
                        &node->name, b->error));
  LK_RETURN_NOT_OK(find_inputs(b, scope, proto, index));
  for (size_t i = 0; i < proto->n_output; i++) {
    if (!lk_onnx_given(proto->output[i])) continue;
    LK_RETURN_NOT_OK(lk_onnx_scope_find(scope, proto->output[i], &node->outputs[i], b->error));
  }
  const lk_status status = lk_onnx_attributes_read(b->source, scope, proto, label, node, b->error);
  if (lk_graph_may_leave_unread(status)) {
    const lk_error why = *b->error;
    return lk_graph_leave_unread(graph, index, &why, b->error);
  }
  LK_RETURN_NOT_OK(status);
  return read_bodies(b, scope, index, proto);
}

lk_status lk_onnx_add_nodes(lk_onnx_builder *builder, lk_onnx_scope *scope,
                            Onnx__NodeProto *const *nodes, size_t count) {
  LK_RETURN_NOT_OK(add_outputs(builder, scope, nodes, count));
  for (size_t i = 0; i < count; i++) {
    LK_RETURN_NOT_OK(lk_step(builder->error));
    LK_RETURN_NOT_OK(add_node(builder, scope, nodes[i]));
  }
  return LK_OK;
}
