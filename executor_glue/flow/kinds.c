/* Which values are sequences or optional. */
#include "base/status.h"
#include "executor_glue/flow/lists.h"
#include "executor_glue/graph/advice.h"
#include "executor_glue/run/program.h"

static uint8_t kind_of(const lk_graph *graph, int32_t value) {
  return value != LK_NO_VALUE ? graph->values[value].kind : 0;
}

static void add_kind(lk_graph *graph, int32_t value, uint8_t kind) {
  if (value != LK_NO_VALUE) graph->values[value].kind |= kind;
}

static uint8_t kind_of_result(lk_list_result result, uint8_t first) {
  switch (result) {
  case LK_LIST_GIVES_TENSOR:
    return 0;
  case LK_LIST_GIVES_SEQUENCE:
    return LK_VALUE_SEQUENCE;
  case LK_LIST_GIVES_SAME:
    return first;
  case LK_LIST_GIVES_OPTIONAL:
    return first | LK_VALUE_OPTIONAL;
  case LK_LIST_GIVES_ELEMENT:
    return first & LK_VALUE_SEQUENCE;
  }
  return 0;
}

/* What the node gives to its bodies, and gets from them. Carried values are what they were before
 * the first iteration, or what the body makes of them. */
static lk_status find_in_bodies(lk_graph *graph, const lk_node *node, lk_error *error) {
  const uint32_t own = node->n_inputs - lk_node_captured(node);
  const bool is_branch = lk_node_is(node, "If"), is_loop = lk_node_is(node, "Loop");
  uint32_t captured = own;
  for (uint32_t b = 0; b < node->n_bodies; b++) {
    lk_graph *body = node->bodies[b].graph;
    const size_t first = body->n_inputs - node->bodies[b].n_captured;
    for (size_t i = 0; i < body->n_inputs; i++) {
      const bool is_own = i < first;
      if (is_own && (!is_loop || i >= own)) continue; /* of a sequence, or a slice */
      const int32_t from = is_own ? node->inputs[i] : node->inputs[captured++];
      add_kind(body, body->inputs[i], kind_of(graph, from));
    }
    LK_RETURN_NOT_OK(lk_flow_find_kinds(body, error));
    /* a loop's condition is no output of the node, and what it scans are tensors */
    const size_t skipped = is_loop ? 1 : 0;
    for (size_t i = skipped; (is_branch || is_loop) && i < body->n_outputs; i++) {
      if (i - skipped >= node->n_outputs) break;
      if (is_loop && i - skipped + 2 >= own) break;
      add_kind(graph, node->outputs[i - skipped], kind_of(body, body->outputs[i]));
    }
  }
  for (uint32_t i = 2; is_loop && i < own && i - 2 < node->n_outputs; i++) {
    add_kind(graph, node->outputs[i - 2], kind_of(graph, node->inputs[i]));
  }
  return LK_OK;
}

/* An operator of the table takes tensors. */
static lk_status check_inputs(const lk_graph *graph, const lk_node *node, lk_error *error) {
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const uint8_t kind = kind_of(graph, node->inputs[i]);
    if (kind == 0) continue;
    const lk_status status =
        lk_fail(error, LK_MALFORMED, "failed to read it: input %u is %s, a tensor is required", i,
                (kind & LK_VALUE_OPTIONAL) != 0 ? "an optional value" : "a sequence");
    return lk_program_name_node(graph, node, status, error);
  }
  return LK_OK;
}

lk_status lk_flow_find_kinds(lk_graph *graph, lk_error *error) {
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    const lk_list_op *op = lk_flow_list_find(graph, node);
    if (node->n_bodies > 0) LK_RETURN_NOT_OK(find_in_bodies(graph, node, error));
    if (op == NULL && node->n_bodies == 0) LK_RETURN_NOT_OK(check_inputs(graph, node, error));
    if (op == NULL || node->n_outputs == 0) continue;
    const uint8_t first = node->n_inputs > 0 ? kind_of(graph, node->inputs[0]) : 0;
    const uint8_t kind = kind_of_result(lk_flow_list_result(op), first);
    for (uint32_t i = 0; i < node->n_outputs; i++) add_kind(graph, node->outputs[i], kind);
  }
  return LK_OK;
}

lk_status lk_flow_check_output(const lk_graph *graph, size_t index, lk_error *error) {
  const lk_value *value = &graph->values[graph->outputs[index]];
  const char *op_type = value->producer != LK_NO_NODE ? graph->nodes[value->producer].op_type : "?";
  if (value->kind == 0) return LK_OK;
  return lk_fail(error, LK_UNSUPPORTED,
                 "failed to give output '%s', which %s makes: it is %s, tensors are "
                 "supported" LK_ADVICE_PROVIDER,
                 value->name, op_type,
                 (value->kind & LK_VALUE_OPTIONAL) != 0 ? "an optional value" : "a sequence");
}
