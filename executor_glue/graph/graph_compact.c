/* A graph that is kept for running: what only loading, passes and op_create needed is left behind.
 * Everything lives as long as the session does, and a process may hold many sessions of a model. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/graph.h"
#include "executor_glue/graph/step.h"

static bool is_kept(const lk_value *value) {
  return value->n_uses > 0 || value->producer != LK_NO_NODE || value->is_input || value->is_output;
}

static lk_status copy_text(lk_graph *to, const char *text, const char **out, lk_error *error) {
  *out = lk_graph_strndup(to, text, strlen(text));
  return *out != NULL ? LK_OK : lk_fail_memory(error, "a text of a graph", strlen(text));
}

static lk_status copy_declaration(const lk_declaration *old, lk_graph *to,
                                  const lk_declaration **out, lk_error *error) {
  lk_declaration *declared = lk_graph_alloc(to, sizeof *declared);
  *out = declared;
  if (declared == NULL) return lk_fail_memory(error, "a declaration", sizeof *declared);
  *declared = *old;
  for (size_t i = 0; i < LK_MAX_RANK; i++) {
    if (old->symbols[i] == NULL) continue;
    LK_RETURN_NOT_OK(copy_text(to, old->symbols[i], &declared->symbols[i], error));
  }
  return LK_OK;
}

/* Arrays of exactly the size that is needed, so that adding does not grow them. */
static lk_status reserve(const lk_graph *from, lk_graph *to, lk_error *error) {
  size_t n_values = 0;
  for (size_t i = 0; i < from->n_values; i++) n_values += is_kept(&from->values[i]);
#define RESERVE(array, count)                                                                      \
  do {                                                                                             \
    to->array = lk_calloc(to->allocator, (count), sizeof *to->array);                              \
    if (to->array == NULL) {                                                                       \
      return lk_fail_memory(error, "the " #array " of a graph", (count) * sizeof *to->array);      \
    }                                                                                              \
    to->array##_capacity = (count);                                                                \
  } while (0)
  RESERVE(values, n_values);
  RESERVE(nodes, from->n_nodes);
  RESERVE(inputs, from->n_inputs);
  RESERVE(outputs, from->n_outputs);
  RESERVE(metadata, from->n_metadata);
#undef RESERVE
  return LK_OK;
}

/* All but owned constants, which change hands when nothing can fail any more. `numbers` are the new
 * ones. */
static lk_status copy_values(const lk_graph *from, lk_graph *to, int32_t *numbers,
                             lk_error *error) {
  for (size_t i = 0; i < from->n_values; i++) {
    const lk_value *old = &from->values[i];
    LK_RETURN_NOT_OK(lk_step(error));
    numbers[i] = LK_NO_VALUE;
    if (!is_kept(old)) continue;
    lk_value *value = &to->values[to->n_values];
    *value = *old;
    LK_RETURN_NOT_OK(copy_text(to, old->name, &value->name, error));
    numbers[i] = (int32_t)to->n_values++;
    if (old->constant_kind == LK_CONSTANT_OWNED) value->constant_kind = LK_CONSTANT_NONE;
    if (old->declared == NULL) continue;
    LK_RETURN_NOT_OK(copy_declaration(old->declared, to, &value->declared, error));
  }
  for (size_t i = 0; i < from->n_inputs; i++) {
    LK_RETURN_NOT_OK(lk_graph_add_input(to, numbers[from->inputs[i]], error));
  }
  for (size_t i = 0; i < from->n_outputs; i++) {
    LK_RETURN_NOT_OK(lk_graph_add_output(to, numbers[from->outputs[i]], error));
  }
  return LK_OK;
}

/* Without attributes and post-ops: the op has them. */
static lk_status copy_node(const lk_node *old, lk_graph *to, const int32_t *numbers,
                           lk_error *error) {
  int32_t number = LK_NO_NODE;
  LK_RETURN_NOT_OK(lk_graph_add_node(to, old->n_inputs, old->n_outputs, 0, &number, error));
  lk_node *node = &to->nodes[number];
  node->opset = old->opset;
  LK_RETURN_NOT_OK(copy_text(to, old->op_type, &node->op_type, error));
  LK_RETURN_NOT_OK(copy_text(to, old->domain, &node->domain, error));
  LK_RETURN_NOT_OK(copy_text(to, old->name, &node->name, error));
  LK_RETURN_NOT_OK(copy_text(to, old->fused, &node->fused, error));
  for (uint32_t i = 0; i < old->n_inputs; i++) {
    if (old->inputs[i] != LK_NO_VALUE) node->inputs[i] = numbers[old->inputs[i]];
  }
  for (uint32_t i = 0; i < old->n_outputs; i++) {
    if (old->outputs[i] != LK_NO_VALUE) node->outputs[i] = numbers[old->outputs[i]];
  }
  node->bodies = lk_graph_alloc(to, old->n_bodies * sizeof *node->bodies);
  if (node->bodies == NULL) {
    return lk_fail_memory(error, "bodies", old->n_bodies * sizeof *node->bodies);
  }
  for (uint32_t i = 0; i < old->n_bodies; i++) {
    node->bodies[i] = old->bodies[i];
    LK_RETURN_NOT_OK(copy_text(to, old->bodies[i].name, &node->bodies[i].name, error));
  }
  return LK_OK;
}

static lk_status copy_model_info(const lk_model_info *from, lk_graph *to, lk_error *error) {
  const size_t bytes = from->n_opsets * sizeof(lk_opset);
  lk_opset *opsets = lk_graph_alloc(to, bytes);
  if (opsets == NULL) return lk_fail_memory(error, "the opsets of a model", bytes);
  to->model = *from;
  to->model.opsets = opsets;
  LK_RETURN_NOT_OK(copy_text(to, from->producer_name, &to->model.producer_name, error));
  LK_RETURN_NOT_OK(copy_text(to, from->producer_version, &to->model.producer_version, error));
  for (uint32_t i = 0; i < from->n_opsets; i++) {
    opsets[i].version = from->opsets[i].version;
    LK_RETURN_NOT_OK(copy_text(to, from->opsets[i].domain, &opsets[i].domain, error));
  }
  return LK_OK;
}

static lk_status copy_metadata(const lk_graph *from, lk_graph *to, lk_error *error) {
  for (size_t i = 0; i < from->n_metadata; i++) {
    LK_RETURN_NOT_OK(lk_step(error));
    LK_RETURN_NOT_OK(copy_text(to, from->metadata[i].key, &to->metadata[i].key, error));
    LK_RETURN_NOT_OK(copy_text(to, from->metadata[i].value, &to->metadata[i].value, error));
    to->n_metadata++;
  }
  return LK_OK;
}

/* The copies know where bodies are already, but not that they have them. */
static void move_bodies(lk_graph *from, lk_graph *to) {
  for (size_t i = 0; i < from->n_nodes; i++) {
    to->nodes[i].n_bodies = from->nodes[i].n_bodies;
    from->nodes[i].n_bodies = 0;
  }
}

static void move_constants(lk_graph *from, lk_graph *to, const int32_t *numbers) {
  for (size_t i = 0; i < from->n_values; i++) {
    if (numbers[i] == LK_NO_VALUE || from->values[i].constant_kind != LK_CONSTANT_OWNED) continue;
    from->values[i].constant_kind = LK_CONSTANT_NONE;
    to->values[numbers[i]].constant_kind = LK_CONSTANT_OWNED;
  }
}

/* Names and declarations stay behind. */
static void move_defaults(lk_graph *from, lk_graph *to) {
  for (size_t i = 0; i < from->n_defaults; i++) {
    from->defaults[i].name = NULL;
    from->defaults[i].declared = NULL;
  }
  to->defaults = from->defaults;
  to->n_defaults = from->n_defaults;
  to->defaults_capacity = from->defaults_capacity;
  from->defaults = NULL;
  from->n_defaults = from->defaults_capacity = 0;
}

lk_status lk_graph_compact(lk_graph *graph, lk_error *error) {
  lk_status status = LK_OK;
  lk_graph *made = NULL;
  int32_t *numbers = lk_calloc(graph->allocator, graph->n_values, sizeof *numbers);
  if (numbers == NULL) {
    return lk_fail_memory(error, "the numbers of values", graph->n_values * sizeof *numbers);
  }
  LK_TRY(lk_graph_create(graph->allocator, &made, error));
  LK_TRY(reserve(graph, made, error));
  LK_TRY(copy_values(graph, made, numbers, error));
  for (size_t i = 0; i < graph->n_nodes; i++) {
    LK_TRY(lk_step(error));
    LK_TRY(copy_node(&graph->nodes[i], made, numbers, error));
  }
  LK_TRY(copy_text(made, graph->scope, &made->scope, error));
  LK_TRY(copy_model_info(&graph->model, made, error));
  LK_TRY(copy_metadata(graph, made, error));
  made->n_nodes_in_file = graph->n_nodes_in_file;
  made->context = graph->context;
  move_constants(graph, made, numbers);
  move_bodies(graph, made);
  move_defaults(graph, made);
  const lk_graph old = *graph;
  *graph = *made;
  *made = old;

cleanup:
  lk_graph_destroy(made);
  lk_free(graph->allocator, numbers);
  return status;
}
