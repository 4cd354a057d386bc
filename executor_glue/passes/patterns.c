/* Puts one operator in the place of each tree of operators that patterns.inc lists. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/passes/pattern.h"
#include "executor_glue/passes/rewrite.h"

static const struct {
  const char *name, *tree, *result;
} rows[] = {
#define PATTERN(name, tree, result) {name, tree, result},
#include "executor_glue/passes/patterns.inc"
#undef PATTERN
};

/* ---- the operator, before the graph has it ---- */

typedef struct replacement {
  lk_node node;
  lk_attr attrs[LK_TREE_ATTRS];
  float floats[LK_TREE_ATTRS];
  int32_t inputs[LK_TREE_ARGS], output;
} replacement;

static void describe(const lk_graph *graph, const lk_tree_result *result, const lk_match *match,
                     replacement *out) {
  const lk_node *root = &graph->nodes[match->nodes[0]];
  *out = (replacement){.output = root->outputs[0]};
  for (uint32_t i = 0; i < result->n_inputs; i++) out->inputs[i] = match->values[result->inputs[i]];
  for (uint32_t i = 0; i < result->n_attrs; i++) {
    const lk_tree_attr *attr = &result->attrs[i];
    out->attrs[i] = (lk_attr){attr->name, LK_ATTR_INTS, 1, &attr->number};
    if (attr->slot >= 0) {
      const double factor = attr->factor >= 0 ? match->numbers[attr->factor] : 1;
      out->floats[i] = (float)(match->numbers[attr->slot] * factor);
      out->attrs[i] = (lk_attr){attr->name, LK_ATTR_FLOATS, 1, &out->floats[i]};
    } else if (attr->text[0] != '\0') {
      const uint32_t length = (uint32_t)strlen(attr->text);
      out->attrs[i] = (lk_attr){attr->name, LK_ATTR_STRING, length, attr->text};
    }
  }
  out->node = (lk_node){.op_type = result->op_type,
                        .domain = result->domain,
                        .name = root->name,
                        .fused = "",
                        .opset = result->opset,
                        .n_inputs = result->n_inputs,
                        .n_outputs = 1,
                        .n_attrs = result->n_attrs,
                        .inputs = out->inputs,
                        .outputs = &out->output,
                        .attrs = out->attrs};
}

/* Whether the operator is there, takes these inputs, and makes what the tree did: the same shape in
 * every run. An operator of one input keeps its shape, as all do that stand in such a tree. */
static lk_status compare(const lk_pass_env *env, const lk_graph *graph, const replacement *made,
                         bool *out_same, lk_error *error) {
  const lk_symbolic_shapes *shapes = env->shapes;
  const lk_node_input flags[LK_TREE_ARGS] = {0};
  lk_tensor inputs[LK_TREE_ARGS] = {0};
  lk_tensor_desc tree, output;
  *out_same = false;
  for (uint32_t i = 0; i < made->node.n_inputs; i++) {
    if (!lk_symbolic_shape_desc(shapes, made->inputs[i], &inputs[i].desc)) return LK_OK;
    const uint32_t dtype = inputs[i].desc.dtype;
    if (i == 0 ? dtype != LK_F32 : dtype == LK_DTYPE_NONE) return LK_OK;
  }
  if (!lk_symbolic_shape_desc(shapes, made->output, &tree)) return LK_OK;
  if (env->api->op_find(made->node.op_type, made->node.domain, made->node.opset) == NULL) {
    return LK_OK;
  }
  const lk_node_desc desc = lk_node_describe(graph, &made->node, flags);
  const lk_status status = env->api->op_infer(shapes->dims, &desc, inputs, &output, NULL, NULL);
  if (status == LK_OUT_OF_MEMORY) return lk_fail_memory(error, "a node's shapes", sizeof desc);
  const bool is_shape_same =
      made->node.n_inputs == 1 || (tree.rank != LK_RANK_UNKNOWN && lk_shape_equal(&tree, &output));
  *out_same = status == LK_OK && output.dtype == LK_F32 && is_shape_same;
  return LK_OK;
}

/* ---- the graph ---- */

static lk_status copy_attr(lk_graph *graph, const lk_attr *from, lk_attr *to, lk_error *error) {
  const size_t size = from->type == LK_ATTR_INTS     ? sizeof(int64_t)
                      : from->type == LK_ATTR_FLOATS ? sizeof(float)
                                                     : 1;
  void *data = lk_graph_alloc(graph, size * from->count);
  to->name = lk_graph_strndup(graph, from->name, strlen(from->name));
  if (data == NULL || to->name == NULL) return lk_fail_memory(error, "an attribute", size);
  memcpy(data, from->data, size * from->count);
  *to = (lk_attr){to->name, from->type, from->count, data};
  return LK_OK;
}

/* What comes first fails, if something does: then the graph is as it was. */
static lk_status put(lk_graph *graph, const replacement *made, const lk_match *match,
                     const char *name, lk_error *error) {
  int32_t number = LK_NO_NODE;
  const char *op_type = lk_graph_strndup(graph, made->node.op_type, strlen(made->node.op_type));
  const char *domain = lk_graph_strndup(graph, made->node.domain, strlen(made->node.domain));
  if (op_type == NULL || domain == NULL) return lk_fail_memory(error, "an operator's name", 1);
  LK_RETURN_NOT_OK(
      lk_graph_add_node(graph, made->node.n_inputs, 1, made->node.n_attrs, &number, error));
  lk_node *node = &graph->nodes[number];
  node->op_type = op_type;
  node->domain = domain;
  node->name = made->node.name;
  node->opset = made->node.opset;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    LK_RETURN_NOT_OK(copy_attr(graph, &made->attrs[i], &node->attrs[i], error));
  }
  LK_RETURN_NOT_OK(lk_node_note_fused(graph, number, name, error));
  for (uint32_t i = 0; i < node->n_inputs; i++) {
    lk_node_set_input(graph, number, i, made->inputs[i]);
  }
  lk_node_set_output(graph, number, 0, made->output);
  for (uint32_t i = 0; i < match->n_nodes; i++) lk_graph_remove_node(graph, match->nodes[i]);
  return LK_OK;
}

static lk_status apply(const lk_pass_env *env, lk_graph *graph, const char *name,
                       const lk_pattern *pattern, uint64_t *out_changes, lk_error *error) {
  const size_t n_nodes = graph->n_nodes; /* without those that are added */
  for (size_t n = 0; n < n_nodes; n++) {
    lk_match match;
    replacement made;
    bool is_same = false;
    if (!lk_pattern_match(env, graph, pattern, (int32_t)n, &match)) continue;
    describe(graph, &pattern->result, &match, &made);
    LK_RETURN_NOT_OK(compare(env, graph, &made, &is_same, error));
    if (!is_same) continue;
    LK_RETURN_NOT_OK(put(graph, &made, &match, name, error));
    ++*out_changes;
  }
  return LK_OK;
}

lk_status lk_pass_patterns(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                           lk_error *error) {
  uint64_t before;
  do {
    before = *out_changes;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      lk_pattern pattern;
      LK_RETURN_NOT_OK(lk_pattern_parse(rows[i].tree, rows[i].result, &pattern, error));
      LK_RETURN_NOT_OK(apply(env, graph, rows[i].name, &pattern, out_changes, error));
    }
  } while (*out_changes != before);
  return LK_OK;
}
