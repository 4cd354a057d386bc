/* Moves what a body has into the graph around it. */
#include "executor_glue/graph/graph_inline.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct mover {
  lk_graph *graph, *inner;
  int32_t *numbers; /* [n_values of inner]: in `graph` */
  lk_value_names *names;
  lk_error *error;
} mover;

lk_status lk_graph_index_names(const lk_graph *graph, lk_value_names *out, lk_error *error) {
  LK_RETURN_NOT_OK(lk_value_names_create(graph, graph->n_values, out, error));
  for (size_t i = 0; i < graph->n_values; i++) {
    const char *name = graph->values[i].name;
    if (lk_value_names_find(out, name) != LK_NO_VALUE) continue;
    LK_RETURN_NOT_OK(lk_value_names_put(out, name, (int32_t)i, error));
  }
  return LK_OK;
}

/* "scope/name", with a number behind it where the graph has such a value. */
static lk_status add_value(mover *m, const char *name, int32_t *out) {
  const size_t bytes = strlen(m->inner->scope) + strlen(name) + sizeof "/";
  char *full = lk_graph_alloc(m->graph, bytes);
  if (full == NULL) return lk_fail_memory(m->error, "the name of a value", bytes);
  (void)snprintf(full, bytes, "%s/%s", m->inner->scope, name);
  return lk_value_names_add_free(m->names, m->graph, full, out, m->error);
}

static void number_inputs(const mover *m, const lk_node *node, uint32_t body,
                          const int32_t *given) {
  const lk_graph *inner = m->inner;
  const size_t own = inner->n_inputs - node->bodies[body].n_captured;
  uint32_t captured = node->n_inputs - lk_node_captured(node);
  for (uint32_t i = 0; i < body; i++) captured += node->bodies[i].n_captured;
  for (size_t i = 0; i < inner->n_inputs; i++) {
    m->numbers[inner->inputs[i]] = i < own ? given[i] : node->inputs[captured++];
  }
}

static lk_status move_values(mover *m) {
  for (size_t i = 0; i < m->inner->n_values; i++) {
    lk_value *from = &m->inner->values[i];
    if (from->is_input) continue;
    LK_RETURN_NOT_OK(add_value(m, from->name, &m->numbers[i]));
    lk_value *to = &m->graph->values[m->numbers[i]];
    to->declared = from->declared;
    to->constant = from->constant;
    to->constant_kind = from->constant_kind;
    to->owner = from->owner;
    from->constant_kind = LK_CONSTANT_NONE;
  }
  return LK_OK;
}

static lk_status move_nodes(mover *m) {
  lk_graph *graph = m->graph;
  for (size_t n = 0; n < m->inner->n_nodes; n++) {
    lk_node *node = &m->inner->nodes[n];
    if (node->dead) continue;
    if (graph->n_nodes >= INT32_MAX ||
        !LK_GROW(graph->allocator, graph->nodes, graph->n_nodes, graph->nodes_capacity)) {
      return lk_fail_memory(m->error, "the nodes of a body", graph->n_nodes * sizeof *node);
    }
    for (uint32_t i = 0; i < node->n_inputs; i++) {
      if (node->inputs[i] == LK_NO_VALUE) continue;
      node->inputs[i] = m->numbers[node->inputs[i]];
      if (node->inputs[i] != LK_NO_VALUE) graph->values[node->inputs[i]].n_uses++;
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      if (node->outputs[i] == LK_NO_VALUE) continue;
      node->outputs[i] = m->numbers[node->outputs[i]];
      graph->values[node->outputs[i]].producer = (int32_t)graph->n_nodes;
    }
    node->source = (int32_t)graph->n_nodes;
    graph->nodes[graph->n_nodes++] = *node;
    node->n_bodies = 0; /* they have moved too */
  }
  return LK_OK;
}

lk_status lk_graph_inline_body(lk_graph *graph, int32_t node, uint32_t body, const int32_t *given,
                               lk_value_names *names, int32_t *outputs, lk_error *error) {
  lk_status status = LK_OK;
  lk_graph *inner = graph->nodes[node].bodies[body].graph;
  mover m = {.graph = graph, .inner = inner, .names = names, .error = error};
  m.numbers = lk_calloc(graph->allocator, inner->n_values, sizeof *m.numbers);
  if (m.numbers == NULL) {
    LK_TRY(lk_fail_memory(error, "the values of a body", inner->n_values * sizeof *m.numbers));
  }
  number_inputs(&m, &graph->nodes[node], body, given);
  lk_bump_absorb(&graph->memory, &inner->memory); /* before anything is in both graphs */
  LK_TRY(move_values(&m));
  LK_TRY(move_nodes(&m));
  for (size_t i = 0; i < inner->n_outputs; i++) outputs[i] = m.numbers[inner->outputs[i]];
  inner->n_nodes = inner->n_outputs = 0;

cleanup:
  lk_free(graph->allocator, m.numbers);
  return status;
}
