/* Checks a graph, finds producers and counts uses, and sorts nodes so that each comes after the
 * nodes whose outputs it reads. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/graph.h"
#include "executor_glue/graph/step.h"

static lk_status fail_node(lk_error *error, const lk_node *node, const char *rule,
                           const char *value) {
  return lk_fail(error, LK_MALFORMED, "failed to link graph: node '%s' (%s): value '%s' %s",
                 node->name, node->op_type, value, rule);
}

static lk_status check_index(const lk_graph *graph, const lk_node *node, int32_t value,
                             lk_error *error) {
  if (value == LK_NO_VALUE || (value >= 0 && (size_t)value < graph->n_values)) return LK_OK;
  return lk_fail(error, LK_MALFORMED,
                 "failed to link graph: node '%s' (%s) names value %d, there are %zu", node->name,
                 node->op_type, value, graph->n_values);
}

static bool is_made(const lk_value *value) {
  return value->producer != LK_NO_NODE || value->is_input ||
         value->constant_kind != LK_CONSTANT_NONE;
}

/* Sets producers of live nodes. */
static lk_status index_producers(lk_graph *graph, lk_error *error) {
  for (size_t i = 0; i < graph->n_values; i++) graph->values[i].producer = LK_NO_NODE;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    LK_RETURN_NOT_OK(lk_step(error));
    if (node->dead) continue;
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      const int32_t output = node->outputs[i];
      LK_RETURN_NOT_OK(check_index(graph, node, output, error));
      if (output == LK_NO_VALUE) continue;
      lk_value *value = &graph->values[output];
      if (is_made(value)) {
        return fail_node(error, node, "is made twice, each must be made once", value->name);
      }
      value->producer = (int32_t)n;
    }
  }
  return LK_OK;
}

/* Counts uses, and checks that what is used is made. */
static lk_status index_uses(lk_graph *graph, lk_error *error) {
  for (size_t i = 0; i < graph->n_values; i++) graph->values[i].n_uses = 0;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    LK_RETURN_NOT_OK(lk_step(error));
    if (node->dead) continue;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
      const int32_t input = node->inputs[i];
      LK_RETURN_NOT_OK(check_index(graph, node, input, error));
      if (input == LK_NO_VALUE) continue;
      lk_value *value = &graph->values[input];
      if (!is_made(value)) {
        return fail_node(error, node,
                         "is used but never made, it must be an input, a constant, or made by a "
                         "node",
                         value->name);
      }
      value->n_uses++;
    }
  }
  for (size_t i = 0; i < graph->n_outputs; i++) {
    lk_value *value = &graph->values[graph->outputs[i]];
    if (!is_made(value)) {
      return lk_fail(
          error, LK_MALFORMED,
          "failed to link graph: output '%s' is not an input, a constant, or made by a node",
          value->name);
    }
    value->n_uses++;
  }
  return LK_OK;
}

typedef struct visit {
  int32_t node;
  uint32_t next_input;
} visit;

enum { WHITE = 0, OPEN = 1, DONE = 2 };

/* Writes the live nodes to `order`, each after its producers: depth first in the present order, so
 * that a graph that is sorted already stays as it is. `stack` and `state` have a place per node. */
static lk_status order_nodes(const lk_graph *graph, int32_t *order, visit *stack, uint8_t *state,
                             size_t *out_count, lk_error *error) {
  size_t count = 0;
  for (size_t root = 0; root < graph->n_nodes; root++) {
    LK_RETURN_NOT_OK(lk_step(error));
    if (graph->nodes[root].dead || state[root] != WHITE) continue;
    size_t depth = 0;
    stack[depth++] = (visit){(int32_t)root, 0};
    state[root] = OPEN;
    while (depth > 0) {
      visit *top = &stack[depth - 1];
      const lk_node *node = &graph->nodes[top->node];
      if (top->next_input == node->n_inputs) {
        state[top->node] = DONE;
        order[count++] = top->node;
        depth--;
        continue;
      }
      const int32_t input = node->inputs[top->next_input++];
      const int32_t producer = lk_value_producer_index(graph, input);
      if (producer == LK_NO_NODE || state[producer] == DONE) continue;
      if (state[producer] == OPEN) {
        return fail_node(error, node, "closes a cycle, which a graph must not have",
                         graph->values[input].name);
      }
      state[producer] = OPEN;
      stack[depth++] = (visit){producer, 0};
    }
  }
  *out_count = count;
  return LK_OK;
}

/* Sorts and drops dead nodes; renumbers producers. */
static lk_status sort_nodes(lk_graph *graph, lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = graph->allocator;
  const size_t n = graph->n_nodes;
  size_t count = 0;
  int32_t *order = lk_calloc(allocator, n, sizeof *order);
  visit *stack = lk_calloc(allocator, n, sizeof *stack);
  uint8_t *state = lk_calloc(allocator, n, sizeof *state);
  lk_node *sorted = lk_calloc(allocator, n, sizeof *sorted);
  if (order == NULL || stack == NULL || state == NULL || sorted == NULL) {
    status = lk_fail_memory(error, "the order of nodes", n * sizeof *sorted);
    goto cleanup;
  }
  LK_TRY(order_nodes(graph, order, stack, state, &count, error));
  for (size_t i = 0; i < count; i++) {
    sorted[i] = graph->nodes[order[i]];
    for (uint32_t k = 0; k < sorted[i].n_outputs; k++) {
      const int32_t output = sorted[i].outputs[k];
      if (output != LK_NO_VALUE) graph->values[output].producer = (int32_t)i;
    }
  }
  lk_free(allocator, graph->nodes);
  graph->nodes = sorted;
  graph->n_nodes = count;
  graph->nodes_capacity = n;
  sorted = NULL;
cleanup:
  lk_free(allocator, order);
  lk_free(allocator, stack);
  lk_free(allocator, state);
  lk_free(allocator, sorted);
  return status;
}

lk_status lk_graph_link(lk_graph *graph, lk_error *error) {
  LK_RETURN_NOT_OK(index_producers(graph, error));
  LK_RETURN_NOT_OK(index_uses(graph, error));
  return sort_nodes(graph, error);
}

lk_status lk_graph_resolve(lk_graph *graph, lk_error *error) {
  LK_RETURN_NOT_OK(lk_graph_link(graph, error));
  for (size_t i = 0; i < graph->n_values; i++) {
    lk_graph_free_unused(graph, &graph->values[i]);
  }
  return LK_OK;
}
