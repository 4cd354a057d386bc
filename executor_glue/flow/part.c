/* The graph of a stage: some nodes of a larger graph. */
#include "executor_glue/flow/part.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/step.h"

/* Of a value, in place of the only stage that reads it. */
enum { READ_BY_NOBODY = -1, READ_BY_SEVERAL = -2 /* stages, or by the caller */ };

typedef struct builder {
  const lk_flow_parts *parts;
  const lk_graph *graph;
  int32_t stage;
  lk_graph *part;
  int32_t *inputs, *outputs;
  lk_error *error;
} builder;

/* ---- what all parts are made from ---- */

/* By counting: `first` is where the nodes of each stage begin, in the end. */
static void sort_nodes(const lk_flow_parts *self, const int32_t *stages, size_t n_stages) {
  const size_t n_nodes = self->graph->n_nodes;
  for (size_t n = 0; n < n_nodes; n++) self->first[stages[n]]++;
  for (size_t s = 0, begin = 0; s <= n_stages; s++) {
    const size_t count = (size_t)self->first[s];
    self->first[s] = (int32_t)begin;
    begin += count;
  }
  for (size_t n = 0; n < n_nodes; n++) self->nodes[self->first[stages[n]]++] = (int32_t)n;
  for (size_t s = n_stages; s > 0; s--) self->first[s] = self->first[s - 1];
  self->first[0] = 0;
}

static void find_readers(const lk_flow_parts *self, const int32_t *stages) {
  const lk_graph *graph = self->graph;
  for (size_t i = 0; i < graph->n_values; i++) self->readers[i] = READ_BY_NOBODY;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    for (uint32_t i = 0; i < node->n_inputs; i++) {
      if (node->inputs[i] == LK_NO_VALUE) continue;
      int32_t *reader = &self->readers[node->inputs[i]];
      const bool is_first = *reader == READ_BY_NOBODY || *reader == stages[n];
      *reader = is_first ? stages[n] : READ_BY_SEVERAL;
    }
  }
  for (size_t i = 0; i < graph->n_outputs; i++) {
    self->readers[graph->outputs[i]] = READ_BY_SEVERAL;
  }
}

lk_status lk_flow_parts_create(const lk_graph *graph, const int32_t *stages, size_t n_stages,
                               lk_flow_parts *out, lk_error *error) {
  const lk_allocator *allocator = graph->allocator;
  *out = (lk_flow_parts){.graph = graph,
                         .nodes = lk_calloc(allocator, graph->n_nodes, sizeof *out->nodes),
                         .first = lk_calloc(allocator, n_stages + 1, sizeof *out->first),
                         .readers = lk_calloc(allocator, graph->n_values, sizeof *out->readers),
                         .numbers = lk_calloc(allocator, graph->n_values, sizeof *out->numbers)};
  if (out->nodes == NULL || out->first == NULL || out->readers == NULL || out->numbers == NULL) {
    lk_flow_parts_destroy(out);
    return lk_fail_memory(error, "parts of a graph", graph->n_values * sizeof *out->numbers);
  }
  for (size_t i = 0; i < graph->n_values; i++) out->numbers[i] = LK_NO_VALUE;
  sort_nodes(out, stages, n_stages);
  find_readers(out, stages);
  return LK_OK;
}

void lk_flow_parts_destroy(lk_flow_parts *parts) {
  if (parts->graph == NULL) return;
  const lk_allocator *allocator = parts->graph->allocator;
  lk_free(allocator, parts->nodes);
  lk_free(allocator, parts->first);
  lk_free(allocator, parts->readers);
  lk_free(allocator, parts->numbers);
  *parts = (lk_flow_parts){0};
}

/* ---- a part ---- */

/* A constant stays where it is, until the part's ops have been made. */
static void lend_constant(const lk_value *from, lk_value *to) {
  to->constant = from->constant;
  to->owner = from->owner;
  to->constant_kind =
      from->constant_kind == LK_CONSTANT_MAPPED ? LK_CONSTANT_MAPPED : LK_CONSTANT_BORROWED;
}

static lk_status add_value(const builder *b, int32_t value, int32_t *out) {
  const lk_value *from = &b->graph->values[value];
  LK_RETURN_NOT_OK(lk_step(b->error));
  LK_RETURN_NOT_OK(lk_graph_add_value(b->part, from->name, strlen(from->name), out, b->error));
  b->parts->numbers[value] = *out;
  return LK_OK;
}

/* What a node of the part reads: a constant, an input of the part, or what another node makes. */
static lk_status add_input(const builder *b, int32_t value, int32_t *out) {
  const lk_value *from = &b->graph->values[value];
  *out = b->parts->numbers[value];
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
  const int32_t reader = b->parts->readers[value];
  if (reader == READ_BY_NOBODY || reader == b->stage) return LK_OK; /* nobody else reads it */
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

static void forget(const builder *b, const int32_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (values[i] != LK_NO_VALUE) b->parts->numbers[values[i]] = LK_NO_VALUE;
  }
}

lk_status lk_flow_part_create(const lk_flow_parts *parts, int32_t stage, int32_t *node_index,
                              int32_t *out_inputs, int32_t *out_outputs, lk_graph **out_part,
                              lk_error *error) {
  lk_status status = LK_OK;
  const lk_graph *graph = parts->graph;
  builder b = {.parts = parts,
               .graph = graph,
               .stage = stage,
               .inputs = out_inputs,
               .outputs = out_outputs,
               .error = error};
  const int32_t begin = parts->first[stage], end = parts->first[stage + 1];
  *out_part = NULL;
  LK_TRY(lk_graph_create(graph->allocator, &b.part, error));
  b.part->scope = graph->scope;
  b.part->context = graph->context;
  for (int32_t i = begin; i < end; i++) {
    const int32_t n = parts->nodes[i];
    LK_TRY(add_node(&b, &graph->nodes[n], &node_index[n]));
  }
  LK_TRY(lk_graph_link(b.part, error));
  *out_part = b.part;
  b.part = NULL;

cleanup:
  for (int32_t i = begin; i < end; i++) { /* for the next part */
    const lk_node *node = &graph->nodes[parts->nodes[i]];
    forget(&b, node->inputs, node->n_inputs);
    forget(&b, node->outputs, node->n_outputs);
  }
  lk_graph_destroy(b.part);
  return status;
}
