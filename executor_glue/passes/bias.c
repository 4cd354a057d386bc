/* Fuses Add of a constant vector into a product: a post-op with the constant as its operand. */
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/rewrite.h"

/* The constant does not enlarge the product: by what is certain of its shape, or, where the rank of
 * the left side is open, because the last dimension comes from constant weights alone. */
static bool fits(const lk_pass_env *env, const lk_graph *graph, const lk_node *product,
                 const lk_tensor_desc *bias) {
  if (lk_symbolic_shape_takes(env->shapes, product->outputs[0], bias)) return true;
  if (!lk_node_has(env, product, LK_OP_COLUMNS) || bias->rank != 1) return false;
  if (!lk_value_is_constant(graph, product->inputs[1])) return false;
  const lk_tensor_desc *weights = &graph->values[product->inputs[1]].constant.desc;
  return weights->rank >= 2 && weights->dims[weights->rank - 1] == bias->dims[0];
}

/* What comes with a run is for pass "residual", which says why it leaves it. */
static bool can_fuse(const lk_pass_env *env, const lk_graph *graph, int32_t product, int32_t bias,
                     lk_miss *miss) {
  if (!lk_value_is_weight(graph, bias)) return false;
  const lk_tensor_desc *desc = &graph->values[bias].constant.desc;
  if (lk_elements(desc) == 1) return false; /* scalars: pass "activation" */
  const int32_t target = lk_post_op_target(env, graph, product, 1, miss);
  if (target == LK_NO_NODE) return false;
  const lk_node *producer = &graph->nodes[target];
  if (!lk_node_has(env, producer, LK_OP_TENSOR_POST_OPS)) return false;
  /* A vector along the last dimension; anything else is no bias. */
  if (desc->dims[desc->rank - 1] != lk_elements(desc)) {
    return lk_miss_note(miss, "", "the constant '%s' is not a vector along the last dimension",
                        graph->values[bias].name);
  }
  if (fits(env, graph, producer, desc)) return true;
  return lk_miss_note(miss, "give the model's inputs fixed ranks and dimensions",
                      "'%s' is not known to have as many columns as the constant '%s'",
                      graph->values[product].name, graph->values[bias].name);
}

lk_status lk_pass_bias(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                       lk_error *error) {
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *add = &graph->nodes[n];
    lk_miss room, *miss = lk_refusals_listen(env->refusals, &room);
    LK_RETURN_NOT_OK(lk_step(error));
    if (!lk_node_is_plain(add) || lk_node_arithmetic(env, add) != LK_POST_ADD) continue;
    const int32_t a = add->inputs[0], b = add->inputs[1];
    const bool into_a = can_fuse(env, graph, a, b, miss);
    if (!into_a && !can_fuse(env, graph, b, a, miss)) {
      lk_refusals_add(env->refusals, graph, (int32_t)n, miss);
      continue;
    }
    LK_RETURN_NOT_OK(
        lk_graph_fuse_add(env, graph, (int32_t)n, into_a ? a : b, into_a ? b : a, "bias", error));
    ++*out_changes;
  }
  return LK_OK;
}
