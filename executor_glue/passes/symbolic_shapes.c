/* Types and shapes that are certain before any input is seen: the walk over the graph. */
#include "executor_glue/passes/symbolic_shapes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/own_ops.h"
#include "executor_glue/graph/step.h"

void *lk_symbolic_value(const lk_value *value, int64_t memory[LK_MAX_LIST_VALUES]) {
  int64_t bytes = 0;
  if (value->constant_kind == LK_CONSTANT_NONE || value->is_input || value->constant.data == NULL ||
      lk_tensor_size(&value->constant.desc, value->name, NULL, &bytes, NULL) != LK_OK ||
      bytes > LK_MAX_LIST_VALUES * (int64_t)sizeof *memory) {
    return NULL;
  }
  memcpy(memory, value->constant.data, (size_t)bytes);
  return memory;
}

static void from_input(lk_symbolic_shapes *shapes, const lk_value *value, lk_tensor_desc *desc) {
  const lk_declaration *declared = value->declared;
  if (declared == NULL) return;
  desc->dtype = declared->dtype;
  if (declared->rank < 0) return;
  desc->rank = (uint32_t)declared->rank;
  for (uint32_t i = 0; i < desc->rank; i++) {
    desc->dims[i] =
        declared->dims[i] >= 0 ? declared->dims[i] : shapes->api->dims_open(shapes->dims);
  }
}

lk_status lk_question_create(const lk_graph *graph, lk_question *out, lk_error *error) {
  const lk_allocator *allocator = graph->allocator;
  uint32_t most_inputs = 0, most_outputs = 0;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    if (node->n_inputs > most_inputs) most_inputs = node->n_inputs;
    if (node->n_outputs > most_outputs) most_outputs = node->n_outputs;
  }
  *out = (lk_question){.flags = lk_calloc(allocator, most_inputs, sizeof *out->flags),
                       .inputs = lk_calloc(allocator, most_inputs, sizeof *out->inputs),
                       .values = lk_calloc(allocator, most_inputs, sizeof *out->values),
                       .elements = lk_calloc(allocator, most_inputs, sizeof *out->elements),
                       .outputs = lk_calloc(allocator, most_outputs, sizeof *out->outputs)};
  if (out->flags == NULL || out->inputs == NULL || out->values == NULL || out->elements == NULL ||
      out->outputs == NULL) {
    return lk_fail_memory(error, "a node's inputs", most_inputs * sizeof *out->values);
  }
  return LK_OK;
}

void lk_question_destroy(const lk_graph *graph, lk_question *question) {
  lk_free(graph->allocator, question->flags);
  lk_free(graph->allocator, question->inputs);
  lk_free(graph->allocator, question->values);
  lk_free(graph->allocator, (void *)question->elements);
  lk_free(graph->allocator, question->outputs);
}

/* What the operator refuses, or nobody knows, stays unknown; only want of memory is a failure. */
static lk_status infer(const lk_graph *graph, lk_symbolic_shapes *shapes, const lk_node *node,
                       lk_question *q, lk_error *error) {
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    const int32_t value = node->inputs[i];
    q->inputs[i] = (lk_tensor){0};
    q->elements[i] = NULL;
    q->flags[i] = (lk_node_input){.flags = value == LK_NO_VALUE ? LK_INPUT_ABSENT : 0};
    if (value == LK_NO_VALUE) continue;
    q->inputs[i].desc = shapes->descs[value];
    q->inputs[i].data = lk_symbolic_value(&graph->values[value], q->values[i]);
    q->elements[i] = shapes->elements[value];
  }
  const lk_node_desc desc = lk_node_describe(graph, node, q->flags);
  int32_t copy_of = -1;
  int64_t elements[LK_MAX_VALUES];
  lk_error why;
  const lk_status status = shapes->api->op_infer_values(shapes->dims, &desc, q->inputs, q->elements,
                                                        q->outputs, &copy_of, elements, &why);
  if (status == LK_OUT_OF_MEMORY) {
    return lk_fail(error, status, "node '%s' (%s): %s", lk_node_label(graph, node), node->op_type,
                   why.message);
  }
  if (status != LK_OK) return LK_OK;
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (node->outputs[i] != LK_NO_VALUE) shapes->descs[node->outputs[i]] = q->outputs[i];
  }
  if (node->outputs[0] != LK_NO_VALUE) {
    memcpy(shapes->elements[node->outputs[0]], elements, sizeof elements);
  }
  if (copy_of >= 0 && node->outputs[0] != LK_NO_VALUE && node->n_post_ops == 0) {
    shapes->copies[node->outputs[0]] = node->inputs[copy_of];
  }
  return LK_OK;
}

static lk_status infer_all(const lk_graph *graph, lk_symbolic_shapes *shapes, lk_error *error) {
  lk_status status = LK_OK;
  lk_question q = {0};
  LK_TRY(lk_question_create(graph, &q, error));
  for (size_t n = 0; n < graph->n_nodes; n++) {
    LK_TRY(lk_step(error));
    const lk_node *node = &graph->nodes[n];
    if (node->dead || node->n_outputs == 0 || lk_own_op_find(node) != NULL) continue;
    LK_TRY(infer(graph, shapes, node, &q, error));
  }
cleanup:
  lk_question_destroy(graph, &q);
  return status;
}

static void from_given(lk_symbolic_shapes *shapes, const lk_graph *graph,
                       const lk_tensor_desc *inputs) {
  for (size_t i = 0; i < graph->n_inputs; i++) {
    lk_tensor_desc *desc = &shapes->descs[graph->inputs[i]];
    *desc = inputs[i];
    for (uint32_t d = 0; desc->rank != LK_RANK_UNKNOWN && d < desc->rank; d++) {
      if (desc->dims[d] < 0) desc->dims[d] = shapes->api->dims_open(shapes->dims);
    }
  }
}

lk_status lk_symbolic_shapes_create(const lk_api *api, const lk_graph *graph,
                                    lk_symbolic_shapes **out_shapes, lk_error *error) {
  return lk_symbolic_shapes_of_body(api, graph, NULL, out_shapes, error);
}

lk_status lk_symbolic_shapes_of_body(const lk_api *api, const lk_graph *graph,
                                     const lk_tensor_desc *inputs, lk_symbolic_shapes **out_shapes,
                                     lk_error *error) {
  *out_shapes = NULL;
  lk_status status = LK_OK;
  const lk_allocator *allocator = graph->allocator;
  lk_symbolic_shapes *shapes = lk_calloc(allocator, 1, sizeof *shapes);
  if (shapes == NULL) return lk_fail_memory(error, "symbolic shapes", sizeof *shapes);
  shapes->allocator = allocator;
  shapes->api = api;
  shapes->n_values = graph->n_values;
  LK_TRY(api->dims_create(allocator, &shapes->dims, error));
  if (graph->context != NULL) api->dims_set_context(shapes->dims, graph->context);
  shapes->descs = lk_calloc(allocator, graph->n_values, sizeof *shapes->descs);
  shapes->copies = lk_calloc(allocator, graph->n_values, sizeof *shapes->copies);
  shapes->elements = lk_calloc(allocator, graph->n_values, sizeof *shapes->elements);
  if (shapes->descs == NULL || shapes->copies == NULL || shapes->elements == NULL) {
    LK_TRY(lk_fail_memory(error, "symbolic shapes", graph->n_values * sizeof *shapes->descs));
  }
  for (size_t i = 0; i < graph->n_values; i++) {
    const lk_value *value = &graph->values[i];
    LK_TRY(lk_step(error));
    shapes->copies[i] = LK_NO_VALUE;
    for (uint32_t k = 0; k < LK_MAX_VALUES; k++) shapes->elements[i][k] = LK_DIM_UNKNOWN;
    shapes->descs[i].rank = LK_RANK_UNKNOWN;
    if (value->is_input) {
      from_input(shapes, value, &shapes->descs[i]);
    } else if (value->constant_kind != LK_CONSTANT_NONE) {
      shapes->descs[i] = value->constant.desc;
    }
  }
  if (inputs != NULL) from_given(shapes, graph, inputs);
  LK_TRY(infer_all(graph, shapes, error));
  *out_shapes = shapes;
  shapes = NULL;
cleanup:
  lk_symbolic_shapes_destroy(shapes);
  return status;
}

void lk_symbolic_shapes_destroy(lk_symbolic_shapes *shapes) {
  if (shapes == NULL) return;
  shapes->api->dims_destroy(shapes->dims);
  lk_free(shapes->allocator, shapes->descs);
  lk_free(shapes->allocator, shapes->copies);
  lk_free(shapes->allocator, shapes->elements);
  lk_free(shapes->allocator, shapes);
}

/* NULL: nothing is known. */
static const lk_tensor_desc *desc_of(const lk_symbolic_shapes *shapes, int32_t value) {
  return value >= 0 && (size_t)value < shapes->n_values ? &shapes->descs[value] : NULL;
}

uint32_t lk_symbolic_shape_dtype(const lk_symbolic_shapes *shapes, int32_t value) {
  const lk_tensor_desc *desc = desc_of(shapes, value);
  return desc != NULL ? desc->dtype : (uint32_t)LK_DTYPE_NONE;
}

int32_t lk_symbolic_shape_rank(const lk_symbolic_shapes *shapes, int32_t value) {
  const lk_tensor_desc *desc = desc_of(shapes, value);
  return desc != NULL && desc->rank != LK_RANK_UNKNOWN ? (int32_t)desc->rank : -1;
}

bool lk_symbolic_shape_desc(const lk_symbolic_shapes *shapes, int32_t value, lk_tensor_desc *out) {
  const lk_tensor_desc *desc = desc_of(shapes, value);
  if (desc != NULL) *out = *desc;
  return desc != NULL;
}

bool lk_symbolic_shape_same(const lk_symbolic_shapes *shapes, int32_t a, int32_t b) {
  const int32_t rank = lk_symbolic_shape_rank(shapes, a);
  return rank >= 0 && rank == lk_symbolic_shape_rank(shapes, b) &&
         lk_shape_equal(desc_of(shapes, a), desc_of(shapes, b));
}

const int64_t *lk_symbolic_numbers(const lk_symbolic_shapes *shapes, int32_t value) {
  const int32_t rank = lk_symbolic_shape_rank(shapes, value);
  const lk_tensor_desc *desc = desc_of(shapes, value);
  int64_t count = 1;
  for (int32_t i = 0; i < rank; i++) {
    if (desc->dims[i] < 0 || desc->dims[i] > LK_MAX_VALUES) return NULL;
    count *= desc->dims[i]; /* at most 16 to the power of 8 */
  }
  if (rank < 0 || count > LK_MAX_VALUES) return NULL;
  for (int64_t i = 0; i < count; i++) {
    if (shapes->elements[value][i] < 0) return NULL;
  }
  return shapes->elements[value];
}

bool lk_symbolic_shape_takes(const lk_symbolic_shapes *shapes, int32_t value,
                             const lk_tensor_desc *desc) {
  const int32_t rank = lk_symbolic_shape_rank(shapes, value);
  if (desc->rank == 0) return true;
  if (rank < (int32_t)desc->rank) return false;
  const int64_t *dims = &desc_of(shapes, value)->dims[(uint32_t)rank - desc->rank];
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (desc->dims[i] != 1 && desc->dims[i] != dims[i]) return false;
  }
  return true;
}

int32_t lk_symbolic_copy_of(const lk_symbolic_shapes *shapes, int32_t value) {
  return desc_of(shapes, value) != NULL ? shapes->copies[value] : LK_NO_VALUE;
}
