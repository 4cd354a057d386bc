/* What passes do to a graph: look at attributes, move values between nodes, remove and extend
 * nodes, make constants. Producers and uses stay true through every call. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/graph.h"

const lk_attr *lk_node_attr(const lk_node *node, const char *name, uint32_t type) {
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const lk_attr *attr = &node->attrs[i];
    if (strcmp(attr->name, name) == 0) return attr->type == type ? attr : NULL;
  }
  return NULL;
}

int64_t lk_node_attr_int(const lk_node *node, const char *name, int64_t fallback) {
  const lk_attr *attr = lk_node_attr(node, name, LK_ATTR_INTS);
  return attr != NULL && attr->count == 1 ? *(const int64_t *)attr->data : fallback;
}

float lk_node_attr_float(const lk_node *node, const char *name, float fallback) {
  const lk_attr *attr = lk_node_attr(node, name, LK_ATTR_FLOATS);
  return attr != NULL && attr->count == 1 ? *(const float *)attr->data : fallback;
}

bool lk_node_attr_is_text(const lk_node *node, const char *name, const char *text) {
  const lk_attr *attr = lk_node_attr(node, name, LK_ATTR_STRING);
  return attr != NULL && attr->count == strlen(text) && memcmp(attr->data, text, attr->count) == 0;
}

bool lk_node_is(const lk_node *node, const char *op_type) {
  return !node->dead && node->domain[0] == '\0' && strcmp(node->op_type, op_type) == 0;
}

uint32_t lk_node_captured(const lk_node *node) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < node->n_bodies; i++) n += node->bodies[i].n_captured;
  return n;
}

uint32_t lk_node_own_inputs(const lk_node *node) {
  uint32_t n = node->n_inputs;
  for (uint32_t i = 0; i < node->n_post_ops; i++) {
    const int32_t input = node->post_ops[i].input;
    if (input >= 0 && (uint32_t)input < n) n = (uint32_t)input;
  }
  return n;
}

/* A constant that nobody uses any more is freed at once: folded weights are large. */
static void drop_use(lk_graph *graph, int32_t value) {
  graph->values[value].n_uses--;
  lk_graph_free_unused(graph, &graph->values[value]);
}

void lk_node_set_input(lk_graph *graph, int32_t node, uint32_t index, int32_t value) {
  int32_t *slot = &graph->nodes[node].inputs[index];
  const int32_t old = *slot;
  *slot = value;
  if (value != LK_NO_VALUE) graph->values[value].n_uses++;
  if (old != LK_NO_VALUE) drop_use(graph, old);
}

void lk_graph_replace_values(lk_graph *graph, const int32_t *replacement) {
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    if (node->dead) continue;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
      const int32_t from = node->inputs[i];
      if (from == LK_NO_VALUE || replacement[from] == from) continue;
      lk_node_set_input(graph, (int32_t)n, i, replacement[from]);
    }
  }
}

void lk_graph_remove_node(lk_graph *graph, int32_t node_number) {
  lk_node *node = &graph->nodes[node_number];
  node->dead = true;
  lk_node_destroy_bodies(node);
  for (uint32_t i = 0; i < node->n_outputs; i++) {
    if (node->outputs[i] == LK_NO_VALUE) continue;
    lk_value *value = &graph->values[node->outputs[i]];
    if (value->producer == node_number) value->producer = LK_NO_NODE;
  }
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    if (node->inputs[i] != LK_NO_VALUE) drop_use(graph, node->inputs[i]);
  }
}

lk_status lk_node_append_input(lk_graph *graph, int32_t node_number, int32_t value,
                               lk_error *error) {
  lk_node *node = &graph->nodes[node_number];
  const size_t bytes = ((size_t)node->n_inputs + 1) * sizeof *node->inputs;
  int32_t *inputs = lk_graph_alloc(graph, bytes);
  if (inputs == NULL) return lk_fail_memory(error, "inputs of a node", bytes);
  if (node->n_inputs > 0) memcpy(inputs, node->inputs, bytes - sizeof *inputs);
  inputs[node->n_inputs++] = value;
  node->inputs = inputs;
  if (value != LK_NO_VALUE) graph->values[value].n_uses++;
  return LK_OK;
}

lk_status lk_node_append_post_op(lk_graph *graph, int32_t node_number, lk_post_op post_op,
                                 lk_error *error) {
  lk_node *node = &graph->nodes[node_number];
  const size_t bytes = ((size_t)node->n_post_ops + 1) * sizeof *node->post_ops;
  lk_post_op *post_ops = lk_graph_alloc(graph, bytes);
  if (post_ops == NULL) return lk_fail_memory(error, "post-ops of a node", bytes);
  if (node->n_post_ops > 0) memcpy(post_ops, node->post_ops, bytes - sizeof *post_ops);
  post_ops[node->n_post_ops++] = post_op;
  node->post_ops = post_ops;
  return LK_OK;
}

lk_status lk_node_note_fused(lk_graph *graph, int32_t node_number, const char *what,
                             lk_error *error) {
  lk_node *node = &graph->nodes[node_number];
  const size_t bytes = strlen(node->fused) + sizeof "," + strlen(what);
  char *text = lk_graph_alloc(graph, bytes);
  if (text == NULL) return lk_fail_memory(error, "a note on a node", bytes);
  (void)snprintf(text, bytes, "%s%s%s", node->fused, node->fused[0] != '\0' ? "," : "", what);
  node->fused = text;
  return LK_OK;
}

void lk_node_set_output(lk_graph *graph, int32_t node_number, uint32_t index, int32_t value) {
  lk_node *node = &graph->nodes[node_number];
  const int32_t old = node->outputs[index];
  if (old != LK_NO_VALUE && graph->values[old].producer == node_number) {
    graph->values[old].producer = LK_NO_NODE;
  }
  node->outputs[index] = value;
  if (value != LK_NO_VALUE) graph->values[value].producer = node_number;
}

static void set_constant(lk_graph *graph, int32_t value_number, lk_constant_kind kind,
                         const lk_tensor_desc *desc, void *data) {
  lk_value *value = &graph->values[value_number];
  if (value->constant_kind == LK_CONSTANT_OWNED) lk_free(graph->allocator, value->constant.data);
  value->constant_kind = kind;
  value->constant.desc = *desc;
  value->constant.data = data;
  value->owner = NULL;
  value->declared = NULL;
}

void lk_value_set_constant(lk_graph *graph, int32_t value, const lk_tensor_desc *desc, void *data) {
  set_constant(graph, value, LK_CONSTANT_OWNED, desc, data);
}

lk_status lk_value_copy_constant(lk_graph *graph, int32_t value, const lk_tensor *from,
                                 lk_error *error) {
  const char *name = graph->values[value].name;
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(&from->desc, name, NULL, &bytes, error));
  void *data = lk_alloc_aligned(graph->allocator, (size_t)bytes, LK_DATA_ALIGNMENT);
  if (data == NULL) return lk_fail_memory(error, name, (size_t)bytes);
  if (bytes > 0) memcpy(data, from->data, (size_t)bytes);
  lk_value_set_constant(graph, value, &from->desc, data);
  return LK_OK;
}

void lk_value_lend_constant(lk_graph *graph, int32_t value, const lk_tensor *constant) {
  set_constant(graph, value, LK_CONSTANT_BORROWED, &constant->desc, constant->data);
}

uint32_t lk_value_dtype(const lk_value *value) {
  if (value->constant_kind != LK_CONSTANT_NONE) return value->constant.desc.dtype;
  return value->declared != NULL ? value->declared->dtype : (uint32_t)LK_DTYPE_NONE;
}

static double half_to_double(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  double magnitude = exponent > 0 ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double lk_constant_number(const lk_value *value, size_t index) {
  const void *data = value->constant.data;
/* Also where the model's bytes are not aligned. */
#define AT(type) (((const struct __attribute__((packed, may_alias)) { type x; } *)data)[index].x)
  switch (value->constant.desc.dtype) {
  case LK_F32:
    return (double)AT(float);
  case LK_F64:
    return AT(double);
  case LK_U8:
  case LK_BOOL:
    return AT(uint8_t);
  case LK_I8:
    return AT(int8_t);
  case LK_U16:
    return AT(uint16_t);
  case LK_I16:
    return AT(int16_t);
  case LK_I32:
    return AT(int32_t);
  case LK_U32:
    return AT(uint32_t);
  case LK_I64:
    return (double)AT(int64_t);
  case LK_U64:
    return (double)AT(uint64_t);
  case LK_F16:
    return half_to_double(AT(uint16_t));
  case LK_BF16: {
    const uint32_t wide = (uint32_t)AT(uint16_t) << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return (double)x;
  }
  default:
    return NAN;
  }
#undef AT
}
