/* FlexAttention (ai.onnx.preview): attention whose scores and probabilities may pass through bodies
 * of the node. Without bodies it is the operator Attention; else it becomes the operators that its
 * specification names, with the bodies' nodes among them.
 *
 * Heads of queries that share a head of keys are seen as more rows of it, so that nothing is
 * repeated: [B, H, L, E] is [B, K, H / K * L, E] in another shape. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/graph_inline.h"
#include "executor_glue/passes/rewrite.h"

enum { QUERY, KEY, VALUE, N_INPUTS };

typedef struct builder {
  lk_graph *graph;
  int32_t node;
  int32_t inputs[N_INPUTS];
  uint32_t dtype, precision; /* of the inputs; of scores and probabilities */
  uint32_t product;          /* of scores while they are computed: the wider of the two */
  int32_t batch, heads, key_heads, rows, keys, width, value_width; /* lists of one dimension */
  int32_t group_rows;                                              /* of all heads that share one */
  lk_error *error;
} builder;

/* ---- nodes ---- */

static lk_status add_attr(const builder *b, lk_node *node, const char *name, const int64_t *values,
                          uint32_t count) {
  const size_t bytes = count * sizeof *values;
  int64_t *copy = lk_graph_alloc(b->graph, bytes);
  if (copy == NULL) return lk_fail_memory(b->error, "an attribute", bytes);
  memcpy(copy, values, bytes);
  node->attrs[node->n_attrs++] =
      (lk_attr){.name = name, .type = LK_ATTR_INTS, .count = count, .data = copy};
  return LK_OK;
}

/* A node with one output, and room for two attributes; `out_index` may be NULL. */
static lk_status add_node(const builder *b, const char *op_type, const int32_t *inputs,
                          uint32_t n_inputs, int32_t *out_index, int32_t *out) {
  lk_graph *graph = b->graph;
  char name[48];
  int32_t index = LK_NO_NODE;
  const int length = snprintf(name, sizeof name, "latchkey/flex_attention/%zu", graph->n_values);
  LK_RETURN_NOT_OK(lk_graph_add_value(graph, name, (size_t)length, out, b->error));
  LK_RETURN_NOT_OK(lk_graph_add_node(graph, n_inputs, 1, 2, &index, b->error));
  graph->nodes[index].n_attrs = 0;
  graph->nodes[index].op_type = op_type;
  graph->nodes[index].opset = LK_MAX_OPSET;
  for (uint32_t i = 0; i < n_inputs; i++) lk_node_set_input(graph, index, i, inputs[i]);
  lk_node_set_output(graph, index, 0, *out);
  if (out_index != NULL) *out_index = index;
  return LK_OK;
}

/* Dimension `axis` of `value`, a list of one. */
static lk_status dimension(const builder *b, int32_t value, int64_t axis, int32_t *out) {
  int32_t index = LK_NO_NODE;
  const int64_t end = axis + 1;
  LK_RETURN_NOT_OK(add_node(b, "Shape", &value, 1, &index, out));
  LK_RETURN_NOT_OK(add_attr(b, &b->graph->nodes[index], "start", &axis, 1));
  return add_attr(b, &b->graph->nodes[index], "end", &end, 1);
}

static lk_status cast(const builder *b, int32_t value, uint32_t from, uint32_t to, int32_t *out) {
  int32_t index = LK_NO_NODE;
  const int64_t type = to;
  *out = value;
  if (from == to) return LK_OK;
  LK_RETURN_NOT_OK(add_node(b, "Cast", &value, 1, &index, out));
  return add_attr(b, &b->graph->nodes[index], "to", &type, 1);
}

/* `value` with the dimensions `dims`, four lists of one. */
static lk_status reshape(const builder *b, int32_t value, const int32_t dims[4], int32_t *out) {
  int32_t index = LK_NO_NODE, shape = LK_NO_VALUE;
  const int64_t axis = 0, allow_zero = 1;
  LK_RETURN_NOT_OK(add_node(b, "Concat", dims, 4, &index, &shape));
  LK_RETURN_NOT_OK(add_attr(b, &b->graph->nodes[index], "axis", &axis, 1));
  LK_RETURN_NOT_OK(add_node(b, "Reshape", (int32_t[]){value, shape}, 2, &index, out));
  return add_attr(b, &b->graph->nodes[index], "allowzero", &allow_zero, 1);
}

/* The body of this name with `value` as its input; without it, the value as it is. */
static lk_status modify(const builder *b, const char *name, int32_t value, int32_t *out) {
  const lk_node *node = &b->graph->nodes[b->node];
  *out = value;
  for (uint32_t i = 0; i < node->n_bodies; i++) {
    lk_value_names names = {0};
    if (strcmp(node->bodies[i].name, name) != 0) continue;
    lk_status status = lk_graph_index_names(b->graph, &names, b->error);
    if (status == LK_OK) {
      status = lk_graph_inline_body(b->graph, b->node, i, &value, &names, out, b->error);
    }
    lk_value_names_destroy(&names);
    return status;
  }
  return LK_OK;
}

/* ---- the parts ---- */

static lk_status read_shapes(builder *b) {
  int32_t shared = LK_NO_VALUE;
  const int32_t *in = b->inputs;
  LK_RETURN_NOT_OK(dimension(b, in[QUERY], 0, &b->batch));
  LK_RETURN_NOT_OK(dimension(b, in[QUERY], 1, &b->heads));
  LK_RETURN_NOT_OK(dimension(b, in[QUERY], 2, &b->rows));
  LK_RETURN_NOT_OK(dimension(b, in[QUERY], 3, &b->width));
  LK_RETURN_NOT_OK(dimension(b, in[KEY], 1, &b->key_heads));
  LK_RETURN_NOT_OK(dimension(b, in[KEY], 2, &b->keys));
  LK_RETURN_NOT_OK(dimension(b, in[VALUE], 3, &b->value_width));
  LK_RETURN_NOT_OK(add_node(b, "Div", (int32_t[]){b->heads, b->key_heads}, 2, NULL, &shared));
  return add_node(b, "Mul", (int32_t[]){shared, b->rows}, 2, NULL, &b->group_rows);
}

/* The attribute, or 1 / sqrt(width), of the products' type. */
static lk_status make_scale(const builder *b, int32_t *out) {
  const float given = lk_node_attr_float(&b->graph->nodes[b->node], "scale", NAN);
  if (isnan(given)) {
    int32_t number = LK_NO_VALUE, root = LK_NO_VALUE;
    LK_RETURN_NOT_OK(cast(b, b->width, LK_I64, b->product, &number));
    LK_RETURN_NOT_OK(add_node(b, "Sqrt", &number, 1, NULL, &root));
    return add_node(b, "Reciprocal", &root, 1, NULL, out);
  }
  float *number = lk_alloc_aligned(b->graph->allocator, sizeof *number, LK_DATA_ALIGNMENT);
  if (number == NULL) return lk_fail_memory(b->error, "a scale", sizeof *number);
  *number = given;
  int32_t constant = LK_NO_VALUE;
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 0, NULL);
  LK_RETURN_NOT_OK(lk_graph_add_constant(b->graph, &desc, number, &constant, b->error));
  return cast(b, constant, LK_F32, b->product, out);
}

static lk_status make_scores(const builder *b, int32_t *out) {
  const int32_t grouped[] = {b->batch, b->key_heads, b->group_rows, b->width};
  const int32_t apart[] = {b->batch, b->heads, b->rows, b->keys};
  static const int64_t transposed[] = {0, 1, 3, 2};
  int32_t scale = LK_NO_VALUE, query = LK_NO_VALUE, scaled = LK_NO_VALUE, key = LK_NO_VALUE;
  int32_t product = LK_NO_VALUE, scores = LK_NO_VALUE, index = LK_NO_NODE;
  LK_RETURN_NOT_OK(make_scale(b, &scale));
  LK_RETURN_NOT_OK(cast(b, b->inputs[QUERY], b->dtype, b->product, &query));
  LK_RETURN_NOT_OK(reshape(b, query, grouped, &query));
  LK_RETURN_NOT_OK(add_node(b, "Mul", (int32_t[]){query, scale}, 2, NULL, &scaled));
  LK_RETURN_NOT_OK(cast(b, b->inputs[KEY], b->dtype, b->product, &key));
  LK_RETURN_NOT_OK(add_node(b, "Transpose", (int32_t[]){key}, 1, &index, &key));
  LK_RETURN_NOT_OK(add_attr(b, &b->graph->nodes[index], "perm", transposed, 4));
  LK_RETURN_NOT_OK(add_node(b, "MatMul", (int32_t[]){scaled, key}, 2, NULL, &product));
  LK_RETURN_NOT_OK(reshape(b, product, apart, &scores));
  return cast(b, scores, b->product, b->precision, out);
}

static lk_status make_output(const builder *b, int32_t probabilities, int32_t *out) {
  const int32_t grouped[] = {b->batch, b->key_heads, b->group_rows, b->keys};
  const int32_t apart[] = {b->batch, b->heads, b->rows, b->value_width};
  int32_t rows = LK_NO_VALUE, value = LK_NO_VALUE, product = LK_NO_VALUE, whole = LK_NO_VALUE;
  LK_RETURN_NOT_OK(reshape(b, probabilities, grouped, &rows));
  LK_RETURN_NOT_OK(cast(b, b->inputs[VALUE], b->dtype, b->precision, &value));
  LK_RETURN_NOT_OK(add_node(b, "MatMul", (int32_t[]){rows, value}, 2, NULL, &product));
  LK_RETURN_NOT_OK(reshape(b, product, apart, &whole));
  return cast(b, whole, b->precision, b->dtype, out);
}

static lk_status take_apart(builder *b) {
  int32_t scores = LK_NO_VALUE, modified = LK_NO_VALUE, probabilities = LK_NO_VALUE;
  int32_t result = LK_NO_VALUE, index = LK_NO_NODE, copy = LK_NO_VALUE;
  LK_RETURN_NOT_OK(read_shapes(b));
  LK_RETURN_NOT_OK(make_scores(b, &scores));
  LK_RETURN_NOT_OK(modify(b, "score_mod", scores, &modified));
  LK_RETURN_NOT_OK(add_node(b, "Softmax", &modified, 1, NULL, &probabilities));
  LK_RETURN_NOT_OK(modify(b, "prob_mod", probabilities, &modified));
  LK_RETURN_NOT_OK(make_output(b, modified, &result));
  LK_RETURN_NOT_OK(add_node(b, "Identity", &result, 1, &index, &copy));
  const int32_t output = b->graph->nodes[b->node].outputs[0];
  lk_graph_remove_node(b->graph, b->node);
  lk_node_set_output(b->graph, index, 0, output);
  return LK_OK;
}

/* ---- the pass ---- */

static bool is_flex_attention(const lk_node *node) {
  return !node->dead && strcmp(node->op_type, "FlexAttention") == 0 &&
         strcmp(node->domain, "ai.onnx.preview") == 0;
}

/* As the specification has it: anything else stays, and is refused when its op is made. */
static bool is_whole(const lk_node *node) {
  if (node->n_inputs != N_INPUTS + lk_node_captured(node) || node->n_outputs != 1 ||
      node->outputs[0] == LK_NO_VALUE) {
    return false;
  }
  for (uint32_t i = 0; i < N_INPUTS; i++) {
    if (node->inputs[i] == LK_NO_VALUE) return false;
  }
  for (uint32_t i = 0; i < node->n_bodies; i++) {
    const lk_body *body = &node->bodies[i];
    if (body->graph->n_inputs != 1 + body->n_captured || body->graph->n_outputs != 1) return false;
    if (strcmp(body->name, "score_mod") != 0 && strcmp(body->name, "prob_mod") != 0) return false;
  }
  return true;
}

static bool is_float(uint32_t dtype) {
  return dtype == LK_F32 || dtype == LK_F64 || dtype == LK_F16 || dtype == LK_BF16;
}

/* `*out_changed`: its types were known, and it is no FlexAttention any more. */
static lk_status replace(lk_graph *graph, int32_t number, const lk_symbolic_shapes *shapes,
                         bool *out_changed, lk_error *error) {
  lk_node *node = &graph->nodes[number];
  builder b = {.graph = graph, .node = number, .error = error};
  memcpy(b.inputs, node->inputs, sizeof b.inputs);
  b.dtype = lk_symbolic_shape_dtype(shapes, b.inputs[QUERY]);
  b.precision =
      (uint32_t)lk_node_attr_int(node, "softmax_precision", b.dtype == LK_F64 ? LK_F64 : LK_F32);
  b.product = lk_dtype_size(b.dtype) < lk_dtype_size(b.precision) ? b.precision : b.dtype;
  *out_changed = is_float(b.dtype) && is_float(b.precision);
  if (!*out_changed) return LK_OK;
  if (node->n_bodies > 0 || b.dtype == LK_F64 || b.precision == LK_F64) return take_apart(&b);
  node->op_type = "Attention"; /* the attributes are the same */
  node->domain = "";
  node->opset = LK_MAX_OPSET;
  return LK_OK;
}

lk_status lk_pass_flex_attention(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                                 lk_error *error) {
  lk_status status = LK_OK;
  lk_symbolic_shapes *shapes = NULL; /* only where they are needed */
  const size_t n_nodes = graph->n_nodes;
  for (size_t n = 0; n < n_nodes; n++) {
    bool changed = false;
    if (!is_flex_attention(&graph->nodes[n]) || !is_whole(&graph->nodes[n])) continue;
    if (shapes == NULL) LK_TRY(lk_symbolic_shapes_create(env->api, graph, &shapes, error));
    LK_TRY(replace(graph, (int32_t)n, shapes, &changed, error));
    *out_changes += changed;
  }
cleanup:
  lk_symbolic_shapes_destroy(shapes);
  return status;
}
