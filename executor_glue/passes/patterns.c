/* Puts one operator in the place of each tree of operators that patterns.inc and quantized.inc
 * list. */
#include <string.h>

#include "base/alloc.h"
#include "base/attrs.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/pattern.h"
#include "executor_glue/passes/rewrite.h"

typedef struct pattern_row {
  const char *name, *tree, *result;
} pattern_row;

#define PATTERN(name, rounding, tree, result) {name, tree, result},
static const pattern_row real_rows[] = {
#include "executor_glue/passes/patterns.inc"
};
static const pattern_row quantized_rows[] = {
#include "executor_glue/passes/quantized.inc"
};
#undef PATTERN

/* Rows that are tried until nothing changes. */
typedef struct pattern_list {
  const pattern_row *rows;
  size_t count;
  /* Else they are of f32, and the shape is compared: a tree may broadcast where its operator does
   * not. */
  bool keeps_shape;
} pattern_list;

/* ---- the operator, before the graph has it ---- */

typedef struct replacement {
  lk_node node;
  lk_attr attrs[LK_TREE_ALL_ATTRS];
  float floats[LK_TREE_ATTRS];
  int64_t counts[LK_TREE_ATTRS];
  int32_t inputs[LK_TREE_ARGS], output;
} replacement;

static const lk_node *like_of(const lk_graph *graph, const lk_tree_result *result,
                              const lk_match *match) {
  return result->like >= 0 ? lk_value_producer(graph, match->values[result->like]) : NULL;
}

static void describe_attrs(const lk_graph *graph, const lk_tree_result *result,
                           const lk_match *match, replacement *out) {
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
    } else if (attr->counted >= 0) {
      const int32_t value = match->values[attr->counted];
      out->counts[i] = value >= 0 ? lk_elements(&graph->values[value].constant.desc) : 0;
      out->attrs[i] = (lk_attr){attr->name, LK_ATTR_INTS, 1, &out->counts[i]};
    }
  }
}

/* Those of the node that it is like, without what says nothing and what it does not have. */
static void take_attrs(const lk_pass_env *env, const lk_node *like, replacement *out) {
  const lk_op_row *from = lk_node_row(env, like), *to = lk_node_row(env, &out->node);
  for (uint32_t i = 0; i < like->n_attrs; i++) {
    const lk_attr *attr = &like->attrs[i];
    const lk_op_attr *known = from != NULL ? lk_op_attr_find(from, attr->name, like->opset) : NULL;
    const bool is_idle = known != NULL && lk_op_attr_is_default(known, attr);
    const bool has = to != NULL && lk_op_attr_find(to, attr->name, out->node.opset) != NULL;
    if (has || !is_idle) out->attrs[out->node.n_attrs++] = *attr;
  }
}

/* False: it would have too many inputs or attributes, or nothing makes what it is to be like. */
static bool describe(const lk_pass_env *env, const lk_graph *graph, const lk_tree_result *result,
                     const lk_match *match, replacement *out) {
  const lk_node *root = &graph->nodes[match->nodes[0]], *like = like_of(graph, result, match);
  const uint32_t taken = like != NULL ? like->n_attrs : 0;
  uint32_t n_inputs = result->n_inputs;
  *out = (replacement){.output = root->outputs[0]};
  if (like == NULL && (result->has_rest || result->opset == 0)) return false;
  if (result->n_attrs + taken > LK_TREE_ALL_ATTRS) return false;
  for (uint32_t i = 0; i < n_inputs; i++) {
    const int32_t value = match->values[result->inputs[i]];
    out->inputs[i] = value == LK_ABSENT_VALUE ? LK_NO_VALUE : value;
  }
  for (uint32_t i = n_inputs; result->has_rest && i < like->n_inputs; i++) {
    if (i == LK_TREE_ARGS) return false;
    out->inputs[n_inputs++] = like->inputs[i];
  }
  describe_attrs(graph, result, match, out);
  out->node = (lk_node){.op_type = result->op_type,
                        .domain = result->domain,
                        .name = root->name,
                        .fused = "",
                        .opset = result->opset != 0 ? result->opset : like->opset,
                        .n_inputs = n_inputs,
                        .n_outputs = 1,
                        .n_attrs = result->n_attrs,
                        .inputs = out->inputs,
                        .outputs = &out->output,
                        .attrs = out->attrs};
  if (like != NULL) take_attrs(env, like, out);
  return true;
}

/* Whether the operator is there, takes these inputs, and makes what the tree did: the same type
 * and, where it is compared, the same shape in every run. An operator of one input keeps its shape,
 * as all do that stand in such a tree. */
static lk_status compare(const lk_pass_env *env, const lk_graph *graph, const pattern_list *list,
                         const replacement *made, bool *out_same, lk_miss *miss, lk_error *error) {
  const lk_symbolic_shapes *shapes = env->shapes;
  lk_node_input flags[LK_TREE_ARGS] = {0};
  lk_tensor inputs[LK_TREE_ARGS] = {0};
  int64_t numbers[LK_TREE_ARGS][LK_MAX_LIST_VALUES];
  lk_tensor_desc tree, output;
  *out_same = false;
  for (uint32_t i = 0; i < made->node.n_inputs; i++) {
    const int32_t value = made->inputs[i];
    if (value == LK_NO_VALUE) flags[i].flags = LK_INPUT_ABSENT;
    if (value == LK_NO_VALUE) continue;
    if (!lk_symbolic_shape_desc(shapes, value, &inputs[i].desc)) return LK_OK;
    const uint32_t dtype = inputs[i].desc.dtype;
    const bool fits = i == 0 ? dtype == LK_F32 : dtype != LK_DTYPE_NONE;
    if (!list->keeps_shape && !fits) {
      (void)lk_miss_note(miss, "", "'%s' is of type %s, %s is needed", graph->values[value].name,
                         dtype == LK_DTYPE_NONE ? "unknown" : lk_dtype_name(dtype),
                         i == 0 ? "f32" : "a known one");
      return LK_OK;
    }
    inputs[i].data = lk_symbolic_value(&graph->values[value], numbers[i]);
  }
  if (!lk_symbolic_shape_desc(shapes, made->output, &tree)) return LK_OK;
  if (env->api->op_find(made->node.op_type, made->node.domain, made->node.opset) == NULL) {
    return LK_OK;
  }
  const lk_node_desc desc = lk_node_describe(graph, &made->node, flags);
  const lk_status status = env->api->op_infer(shapes->dims, &desc, inputs, &output, NULL, NULL);
  if (status == LK_OUT_OF_MEMORY) return lk_fail_memory(error, "a node's shapes", sizeof desc);
  const bool is_shape_same = list->keeps_shape || made->node.n_inputs == 1 ||
                             (tree.rank != LK_RANK_UNKNOWN && lk_shape_equal(&tree, &output));
  const bool is_type_same =
      status == LK_OK && output.dtype == tree.dtype && output.dtype != LK_DTYPE_NONE;
  *out_same = is_type_same && is_shape_same;
  if (!*out_same) {
    (void)lk_miss_note(miss, "", "%s is not known to make the same %s of these inputs",
                       made->node.op_type, is_type_same ? "shape" : "type");
  }
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

/* Shared nodes go, too, when nothing uses them any more. */
static void remove_matched(lk_graph *graph, const lk_match *match) {
  for (uint32_t i = 0; i < match->n_nodes; i++) {
    if (!match->is_shared[i]) lk_graph_remove_node(graph, match->nodes[i]);
  }
  for (uint32_t i = 0; i < match->n_nodes; i++) {
    const lk_node *node = &graph->nodes[match->nodes[i]];
    if (match->is_shared[i] && !lk_node_is_used(graph, node, 0)) {
      lk_graph_remove_node(graph, match->nodes[i]);
    }
  }
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
  remove_matched(graph, match);
  return LK_OK;
}

/* The row's name stands before the reason: several rows of a pass are of other operators. */
static void note_left(const lk_pass_env *env, const lk_graph *graph, int32_t node, const char *name,
                      const lk_miss *why) {
  lk_miss room, *miss = lk_refusals_listen(env->refusals, &room);
  if (why == NULL || !why->is_near) return;
  (void)lk_miss_note(miss, why->advice, "of '%s', one condition does not hold: %s", name,
                     why->reason);
  miss->is_tree = true;
  lk_refusals_add(env->refusals, graph, node, miss);
}

static lk_status apply(const lk_pass_env *env, lk_graph *graph, const pattern_list *list,
                       const pattern_row *row, uint64_t *out_changes, lk_error *error) {
  const size_t n_nodes = graph->n_nodes; /* without those that are added */
  lk_pattern pattern;
  LK_RETURN_NOT_OK(lk_pattern_parse(row->tree, row->result, &pattern, error));
  for (size_t n = 0; n < n_nodes; n++) {
    lk_match match;
    replacement made;
    bool is_same = false;
    lk_miss room, *miss = lk_refusals_listen(env->refusals, &room);
    LK_RETURN_NOT_OK(lk_step(error));
    if (lk_pattern_match(env, graph, &pattern, (int32_t)n, &match, miss) &&
        describe(env, graph, &pattern.result, &match, &made)) {
      LK_RETURN_NOT_OK(compare(env, graph, list, &made, &is_same, miss, error));
    }
    if (!is_same) note_left(env, graph, (int32_t)n, row->name, miss);
    if (!is_same) continue;
    LK_RETURN_NOT_OK(put(graph, &made, &match, row->name, error));
    ++*out_changes;
  }
  return LK_OK;
}

static lk_status apply_all(const lk_pass_env *env, lk_graph *graph, const pattern_list *list,
                           uint64_t *out_changes, lk_error *error) {
  uint64_t before;
  do {
    before = *out_changes;
    if (env->refusals != NULL) lk_refusals_forget(env->refusals, env->refusals->pass, graph);
    for (size_t i = 0; i < list->count; i++) {
      LK_RETURN_NOT_OK(apply(env, graph, list, &list->rows[i], out_changes, error));
    }
  } while (*out_changes != before);
  return LK_OK;
}

lk_status lk_pass_patterns(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                           lk_error *error) {
  const pattern_list list = {real_rows, sizeof real_rows / sizeof real_rows[0], false};
  return apply_all(env, graph, &list, out_changes, error);
}

lk_status lk_pass_quantized(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                            lk_error *error) {
  const pattern_list list = {quantized_rows, sizeof quantized_rows / sizeof quantized_rows[0],
                             true};
  return apply_all(env, graph, &list, out_changes, error);
}
