/* The graph of a stage: some nodes of a larger graph. */
#include "executor_glue/flow/part.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct builder {
  const lk_graph *graph;
  const int32_t *stages;
  int32_t stage;
  lk_graph *part;
  int32_t *numbers; /* [n_values of graph]: in the part, or LK_NO_VALUE */
  bool *is_read;    /* [n_values of graph]: by another stage, or as an output */
  int32_t *inputs, *outputs;
  lk_error *error;
} builder;

/* Which values other stages read. */
static void find_readers(const builder *b) {
  const lk_graph *graph = b->graph;
  for (size_t i = 0; i < graph->n_values; i++) b->numbers[i] = LK_NO_VALUE;
  for (size_t i = 0; i < graph->n_outputs; i++) b->is_read[graph->outputs[i]] = true;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    if (b->stages[n] == b->stage) continue;
    const lk_node *node = &graph->nodes[n];
    for (uint32_t i = 0; i < node->n_inputs; i++) {
      if (node->inputs[i] != LK_NO_VALUE) b->is_read[node->inputs[i]] = true;
    }
  }
}

/* A constant stays where it is, until the part's ops have been made. */
static void lend_constant(const lk_value *from, lk_value *to) {
  to->constant = from->constant;
  to->owner = from->owner;
  to->constant_kind =
      from->constant_kind == LK_CONSTANT_MAPPED ? LK_CONSTANT_MAPPED : LK_CONSTANT_BORROWED;
}

static lk_status add_value(const builder *b, int32_t value, int32_t *out) {
  const lk_value *from = &b->graph->values[value];
  LK_RETURN_NOT_OK(lk_graph_add_value(b->part, from->name, strlen(from->name), out, b->error));
  b->numbers[value] = *out;
  return LK_OK;
}

/* What a node of the part reads: a constant, an input of the part, or what another node makes. */
static lk_status add_input(const builder *b, int32_t value, int32_t *out) {
  const lk_value *from = &b->graph->values[value];
  *out = b->numbers[value];
  if (*out != LK_NO_VALUE) return LK_OK;
  LK_RETURN_NOT_OK(add_value(b, value, out));
  if (lk_value_is_constant(b->graph, value)) {
    lend_constant(from, &b->part->values[*out]);
    return LK_OK;
  }
  b->inputs[b->part->n_inputs] = value;
  return lk_graph_add_input(b->part, *out, b->error);
}

static lk_status add_output(const builder *b, int32_t value, int32_t *out) {
  LK_RETURN_NOT_OK(add_value(b, value, out));
  if (!b->is_read[value]) return LK_OK;
  b->outputs[b->part->n_outputs] = value;
  return lk_graph_add_output(b->part, *out, b->error);
}

/* Attributes and post-ops are read once, when the op is made. */
static lk_status add_node(const builder *b, const lk_node *from, int32_t *out_index) {
  LK_RETURN_NOT_OK(
      lk_graph_add_node(b->part, from->n_inputs, from->n_outputs, 0, out_index, b->error));
  lk_node *node = &b->part->nodes[*out_index];
  node->op_type = from->op_type;
  node->domain = from->domain;
  node->name = from->name;
  node->fused = from->fused;
  node->opset = from->opset;
  node->source = from->source;
  node->n_attrs = from->n_attrs;
  node->attrs = from->attrs;
  node->n_post_ops = from->n_post_ops;
  node->post_ops = from->post_ops;
  for (uint32_t i = 0; i < from->n_inputs; i++) {
    if (from->inputs[i] == LK_NO_VALUE) continue;
    LK_RETURN_NOT_OK(add_input(b, from->inputs[i], &node->inputs[i]));
  }
  for (uint32_t i = 0; i < from->n_outputs; i++) {
    if (from->outputs[i] == LK_NO_VALUE) continue;
    LK_RETURN_NOT_OK(add_output(b, from->outputs[i], &node->outputs[i]));
  }
  return LK_OK;
}

lk_status lk_flow_part_create(const lk_graph *graph, const int32_t *stages, int32_t stage,
                              int32_t *node_index, int32_t *out_inputs, int32_t *out_outputs,
                              lk_graph **out_part, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = graph->allocator;
  builder b = {.graph = graph,
               .stages = stages,
               .stage = stage,
               .inputs = out_inputs,
               .outputs = out_outputs,
               .error = error};
  *out_part = NULL;
  b.numbers = lk_calloc(allocator, graph->n_values, sizeof *b.numbers);
  b.is_read = lk_calloc(allocator, graph->n_values, sizeof *b.is_read);
  if (b.numbers == NULL || b.is_read == NULL) {
    LK_TRY(lk_fail_memory(error, "a part of a graph", graph->n_values * sizeof *b.numbers));
  }
  find_readers(&b);
  LK_TRY(lk_graph_create(allocator, &b.part, error));
  b.part->scope = graph->scope;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    if (stages[n] == stage) LK_TRY(add_node(&b, &graph->nodes[n], &node_index[n]));
  }
  LK_TRY(lk_graph_link(b.part, error));
  *out_part = b.part;
  b.part = NULL;

cleanup:
  lk_graph_destroy(b.part);
  lk_free(allocator, b.numbers);
  lk_free(allocator, b.is_read);
  return status;
}
