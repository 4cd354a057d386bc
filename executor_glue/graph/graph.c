/* The graph's storage: values, nodes, and the memory that strings and index lists live in. */
#include "executor_glue/graph/graph.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

lk_status lk_graph_create(const lk_allocator *allocator, lk_graph **out_graph, lk_error *error) {
  *out_graph = NULL;
  lk_graph *graph = lk_calloc(allocator, 1, sizeof *graph);
  if (graph == NULL) return lk_fail_memory(error, "a graph", sizeof *graph);
  graph->allocator = allocator;
  graph->scope = "";
  graph->memory = lk_bump_begin(allocator, NULL, 0, LK_GRAPH_FIRST_CHUNK);
  graph->memory.most_bytes = LK_GRAPH_MOST_CHUNK;
  graph->model = (lk_model_info){
      .struct_size = sizeof graph->model, .producer_name = "", .producer_version = ""};
  *out_graph = graph;
  return LK_OK;
}

void lk_node_destroy_bodies(lk_node *node) {
  for (uint32_t i = 0; i < node->n_bodies; i++) lk_graph_destroy(node->bodies[i].graph);
  node->n_bodies = 0;
}

void lk_graph_destroy(lk_graph *graph) {
  if (graph == NULL) return;
  const lk_allocator *allocator = graph->allocator;
  for (size_t i = 0; i < graph->n_values; i++) {
    lk_value *value = &graph->values[i];
    if (value->constant_kind == LK_CONSTANT_OWNED) lk_free(allocator, value->constant.data);
  }
  for (size_t i = 0; i < graph->n_nodes; i++) lk_node_destroy_bodies(&graph->nodes[i]);
  lk_bump_end(&graph->memory);
  lk_free(allocator, graph->values);
  lk_free(allocator, graph->nodes);
  lk_free(allocator, graph->inputs);
  lk_free(allocator, graph->outputs);
  for (size_t i = 0; i < graph->n_defaults; i++) {
    lk_free(allocator, graph->defaults[i].tensor.data);
  }
  lk_free(allocator, graph->defaults);
  lk_free(allocator, graph->metadata);
  lk_free(allocator, graph);
}

bool lk_graph_charge(lk_graph *graph, size_t bytes) {
  lk_graph_limit *limit = graph->limit;
  if (limit == NULL) return true;
  if (bytes > limit->left) {
    limit->is_passed = true;
    return false;
  }
  limit->left -= bytes;
  return true;
}

void lk_graph_lift_limit(lk_graph *graph) {
  graph->limit = NULL;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    for (uint32_t i = 0; i < graph->nodes[n].n_bodies; i++) {
      lk_graph_lift_limit(graph->nodes[n].bodies[i].graph);
    }
  }
}

/* Arrays grow by doubling, old and new at once: three times an element at the worst. */
#define CHARGE_GROWN(graph, array) lk_graph_charge(graph, 3 * sizeof *(graph)->array)

void *lk_graph_alloc(lk_graph *graph, size_t bytes) {
  const size_t before = graph->memory.taken;
  void *piece = lk_bump_alloc(&graph->memory, bytes);
  return lk_graph_charge(graph, graph->memory.taken - before) ? piece : NULL;
}

const char *lk_graph_strndup(lk_graph *graph, const char *text, size_t length) {
  if (length == 0) return "";
  if (length == SIZE_MAX) return NULL;
  char *copy = lk_graph_alloc(graph, length + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

lk_status lk_graph_add_value(lk_graph *graph, const char *name, size_t name_length,
                             int32_t *out_value, lk_error *error) {
  *out_value = LK_NO_VALUE;
  if (graph->n_values >= INT32_MAX) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to add value: %zu are there, at most %d",
                   graph->n_values, INT32_MAX);
  }
  const char *copy = lk_graph_strndup(graph, name, name_length);
  if (copy == NULL) return lk_fail_memory(error, "the name of a value", name_length);
  if (!CHARGE_GROWN(graph, values) ||
      !LK_GROW(graph->allocator, graph->values, graph->n_values, graph->values_capacity)) {
    return lk_fail_memory(error, "values", graph->n_values * 2 * sizeof *graph->values);
  }
  graph->values[graph->n_values] = (lk_value){.name = copy, .producer = LK_NO_NODE};
  *out_value = (int32_t)graph->n_values++;
  return LK_OK;
}

static int32_t *alloc_indices(lk_graph *graph, uint32_t count) {
  int32_t *indices = lk_graph_alloc(graph, (size_t)count * sizeof *indices);
  for (uint32_t i = 0; indices != NULL && i < count; i++) indices[i] = LK_NO_VALUE;
  return indices;
}

lk_status lk_graph_add_node(lk_graph *graph, uint32_t n_inputs, uint32_t n_outputs,
                            uint32_t n_attrs, int32_t *out_node, lk_error *error) {
  *out_node = LK_NO_NODE;
  if (graph->n_nodes >= INT32_MAX) {
    return lk_fail(error, LK_OUT_OF_RANGE, "failed to add node: %zu are there, at most %d",
                   graph->n_nodes, INT32_MAX);
  }
  lk_node node = {.op_type = "",
                  .domain = "",
                  .name = "",
                  .fused = "",
                  .source = (int32_t)graph->n_nodes,
                  .n_inputs = n_inputs,
                  .n_outputs = n_outputs,
                  .n_attrs = n_attrs};
  const size_t attr_bytes = (size_t)n_attrs * sizeof *node.attrs;
  node.inputs = alloc_indices(graph, n_inputs);
  node.outputs = alloc_indices(graph, n_outputs);
  node.attrs = lk_graph_alloc(graph, attr_bytes);
  if (node.inputs == NULL || node.outputs == NULL || node.attrs == NULL ||
      !CHARGE_GROWN(graph, nodes) ||
      !LK_GROW(graph->allocator, graph->nodes, graph->n_nodes, graph->nodes_capacity)) {
    return lk_fail_memory(error, "a node", sizeof node + attr_bytes);
  }
  memset(node.attrs, 0, attr_bytes);
  graph->nodes[graph->n_nodes] = node;
  *out_node = (int32_t)graph->n_nodes++;
  return LK_OK;
}

lk_status lk_graph_add_input(lk_graph *graph, int32_t value, lk_error *error) {
  if (!LK_GROW(graph->allocator, graph->inputs, graph->n_inputs, graph->inputs_capacity)) {
    return lk_fail_memory(error, "graph inputs", graph->n_inputs * 2 * sizeof *graph->inputs);
  }
  graph->inputs[graph->n_inputs++] = value;
  graph->values[value].is_input = true;
  return LK_OK;
}

lk_status lk_graph_add_output(lk_graph *graph, int32_t value, lk_error *error) {
  if (!LK_GROW(graph->allocator, graph->outputs, graph->n_outputs, graph->outputs_capacity)) {
    return lk_fail_memory(error, "graph outputs", graph->n_outputs * 2 * sizeof *graph->outputs);
  }
  graph->outputs[graph->n_outputs++] = value;
  graph->values[value].is_output = true;
  return LK_OK;
}

void lk_graph_free_unused(const lk_graph *graph, lk_value *value) {
  if (value->n_uses > 0 || value->constant_kind != LK_CONSTANT_OWNED || value->is_input) return;
  lk_free(graph->allocator, value->constant.data);
  value->constant_kind = LK_CONSTANT_NONE;
  value->constant.data = NULL;
}

bool lk_value_is_constant(const lk_graph *graph, int32_t value) {
  if (value == LK_NO_VALUE) return false;
  const lk_value *v = &graph->values[value];
  return v->constant_kind != LK_CONSTANT_NONE && !v->is_input;
}

lk_node_desc lk_node_describe(const lk_graph *graph, const lk_node *node,
                              const lk_node_input *inputs) {
  lk_node_desc desc = {.struct_size = sizeof desc,
                       .op_type = node->op_type,
                       .domain = node->domain,
                       .output_name = node->name,
                       .scope = graph->scope,
                       .opset = node->opset,
                       .n_inputs = node->n_inputs,
                       .n_outputs = node->n_outputs,
                       .n_attrs = node->n_attrs,
                       .n_post_ops = node->n_post_ops,
                       .inputs = inputs,
                       .attrs = node->attrs,
                       .post_ops = node->post_ops};
  for (uint32_t i = node->n_outputs; i-- > 0;) {
    if (node->outputs[i] != LK_NO_VALUE) desc.output_name = graph->values[node->outputs[i]].name;
  }
  return desc;
}

const char *lk_node_label(const lk_graph *graph, const lk_node *node) {
  return node->name[0] != '\0' ? node->name : lk_node_describe(graph, node, NULL).output_name;
}
