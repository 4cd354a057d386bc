/* Products of two values and numbers. */
#include "executor_glue/passes/gated_activation.h"

#include "base/status.h"

bool lk_gated_add_node(lk_gated_product *product, int32_t node) {
  if (product->n_nodes == LK_GATED_MAX_NODES) return false;
  product->nodes[product->n_nodes++] = node;
  return true;
}

/* By a tensor or a number. */
static bool multiplies(const lk_pass_env *env, const lk_node *node) {
  const uint32_t kind = lk_node_is_plain(node) ? lk_node_arithmetic(env, node) : 0;
  return kind == LK_POST_MUL || kind == LK_POST_DIV;
}

/* Goes down from `node_number`; depth is bounded by the number of nodes that a product may have. */
static bool collect(const lk_pass_env *env, const lk_graph *graph, int32_t node_number,
                    lk_gated_product *product) {
  const lk_node *node = &graph->nodes[node_number];
  lk_number_step step;
  int32_t parts[2] = {LK_NO_VALUE, LK_NO_VALUE};
  if (!lk_gated_add_node(product, node_number)) return false;
  const bool has_number = lk_node_number_step(env, graph, node, &step);
  if (has_number && step.kind == LK_POST_MUL) {
    product->coefficient *= (double)step.number;
    parts[0] = step.operand;
  } else if (has_number && !step.number_first) {
    product->coefficient /= (double)step.number;
    parts[0] = step.operand;
  } else if (lk_node_arithmetic(env, node) == LK_POST_MUL) {
    parts[0] = node->inputs[0];
    parts[1] = node->inputs[1];
  } else {
    return false;
  }
  for (int i = 0; i < 2; i++) {
    if (parts[i] == LK_NO_VALUE) continue;
    const lk_node *producer = lk_value_producer(graph, parts[i]);
    const bool inner =
        producer != NULL && lk_value_is_private(graph, parts[i]) && multiplies(env, producer);
    if (inner) {
      if (!collect(env, graph, graph->values[parts[i]].producer, product)) return false;
    } else if (product->n_factors == 2) {
      return false;
    } else {
      product->factors[product->n_factors++] = parts[i];
    }
  }
  return true;
}

/* Reads node `root` as coefficient * factor * factor. False: it is no such product. Inner nodes are
 * used by the product alone, and numbers do not change the shape of what they multiply. */
static bool read_product(const lk_pass_env *env, const lk_graph *graph, int32_t root,
                         lk_gated_product *out) {
  *out = (lk_gated_product){.coefficient = 1.0};
  return multiplies(env, &graph->nodes[root]) && collect(env, graph, root, out) &&
         out->n_factors == 2;
}

/* Puts a new operator of one input in the place of all of the product's nodes. */
static lk_status replace(lk_graph *graph, const lk_gated_product *product, const lk_gated *gated,
                         int32_t input, float alpha, lk_error *error) {
  int32_t number = LK_NO_NODE;
  const int32_t root = product->nodes[0];
  const int32_t output = graph->nodes[root].outputs[0];
  LK_RETURN_NOT_OK(lk_graph_add_node(graph, 1, 1, gated->has_alpha ? 1 : 0, &number, error));
  lk_node *node = &graph->nodes[number];
  node->op_type = gated->op_type;
  node->domain = gated->domain;
  node->name = graph->nodes[root].name;
  node->opset = gated->opset;
  if (gated->has_alpha) {
    float *data = lk_graph_alloc(graph, sizeof *data);
    if (data == NULL) return lk_fail_memory(error, "an attribute", sizeof *data);
    *data = alpha;
    node->attrs[0] = (lk_attr){"alpha", LK_ATTR_FLOATS, 1, data};
  }
  LK_RETURN_NOT_OK(lk_node_note_fused(graph, number, gated->note, error));
  lk_node_set_input(graph, number, 0, input);
  lk_node_set_output(graph, number, 0, output);
  for (uint32_t i = 0; i < product->n_nodes; i++) lk_graph_remove_node(graph, product->nodes[i]);
  return LK_OK;
}

lk_status lk_gated_fuse(const lk_pass_env *env, lk_graph *graph, const lk_gated *gated,
                        uint64_t *out_changes, lk_error *error) {
  if (env->api->op_find(gated->op_type, gated->domain, gated->opset) == NULL) return LK_OK;
  const size_t n_nodes = graph->n_nodes; /* without those that are added */
  for (size_t n = 0; n < n_nodes; n++) {
    lk_gated_product product;
    if (!read_product(env, graph, (int32_t)n, &product)) continue;
    const uint32_t n_inner = product.n_nodes;
    for (int side = 0; side < 2; side++) {
      product.n_nodes = n_inner; /* without what the other side had added */
      const int32_t x = product.factors[side], gate = product.factors[1 - side];
      float alpha = 1.0f;
      if (lk_symbolic_shape_dtype(env->shapes, x) != LK_F32 || !lk_value_is_private(graph, gate) ||
          !gated->read_gate(env, graph, gate, x, &product, &alpha)) {
        continue;
      }
      LK_RETURN_NOT_OK(replace(graph, &product, gated, x, alpha, error));
      ++*out_changes;
      break;
    }
  }
  return LK_OK;
}
