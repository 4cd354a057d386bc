/* Fuses activations, and arithmetic with one constant number, into the operator that makes their
 * input, as post-ops. */
#include <math.h>

#include "base/status.h"
#include "executor_glue/passes/rewrite.h"

typedef struct activation {
  int32_t input; /* the value that it is applied to */
  lk_post_op post_op;
} activation;

/* What is noted of a post-op in the node that it goes into. */
static const char *note_of(uint32_t kind) {
  switch (kind) {
#define LK_POST_OP_CASE(symbol, value, name)                                                       \
  case symbol:                                                                                     \
    return name;
    LK_POST_OP_LIST(LK_POST_OP_CASE)
#undef LK_POST_OP_CASE
  default:
    return "?";
  }
}

/* alpha * x + beta from Add, Sub, Mul or Div with one number. */
static bool read_linear(const lk_pass_env *env, const lk_graph *graph,
                        const lk_symbolic_shapes *shapes, const lk_node *node, activation *out) {
  const uint32_t kind = lk_node_arithmetic(env, node);
  if (kind == 0 || !lk_node_is_plain(node)) return false;
  float number = 0.0f;
  const bool left = lk_value_is_scalar(graph, node->inputs[0], &number);
  if (!left && !lk_value_is_scalar(graph, node->inputs[1], &number)) return false;
  out->input = node->inputs[left ? 1 : 0];
  if (out->input == LK_NO_VALUE) return false;
  /* A constant of one element and a high rank would raise the rank of the result. */
  const int32_t constant = node->inputs[left ? 0 : 1];
  if (!lk_symbolic_shape_takes(shapes, out->input, &graph->values[constant].constant.desc)) {
    return false;
  }
  float alpha = 1.0f, beta = 0.0f;
  switch (kind) {
  case LK_POST_ADD:
    beta = number;
    break;
  case LK_POST_MUL:
    alpha = number;
    break;
  case LK_POST_SUB:
    alpha = left ? -1.0f : 1.0f;
    beta = left ? number : -number;
    break;
  default: /* LK_POST_DIV */
    if (left || number == 0.0f) return false;
    alpha = 1.0f / number;
    if (alpha == 0.0f) return false; /* 1 / number is too small for a float */
  }
  out->post_op = (lk_post_op){LK_POST_LINEAR, -1, alpha, beta};
  return isfinite(alpha) && isfinite(beta);
}

/* Folds a linear post-op into the last one of the node when that is linear too. */
static bool merge_linear(lk_node *node, const lk_post_op *next) {
  if (next->kind != LK_POST_LINEAR || node->n_post_ops == 0) return false;
  lk_post_op *last = &node->post_ops[node->n_post_ops - 1];
  if (last->kind != LK_POST_LINEAR) return false;
  const float alpha = (float)((double)last->alpha * (double)next->alpha);
  const float beta = (float)((double)last->beta * (double)next->alpha + (double)next->beta);
  if (!isfinite(alpha) || !isfinite(beta)) return false;
  last->alpha = alpha;
  last->beta = beta;
  return true;
}

static lk_status fuse(lk_graph *graph, int32_t node, const activation *act, lk_error *error) {
  const int32_t producer = graph->values[act->input].producer;
  const lk_post_op *post_op = &act->post_op;
  const bool nothing =
      post_op->kind == LK_POST_LINEAR && post_op->alpha == 1.0f && post_op->beta == 0.0f;
  if (!nothing && !merge_linear(&graph->nodes[producer], post_op)) {
    LK_RETURN_NOT_OK(lk_node_append_post_op(graph, producer, *post_op, error));
    LK_RETURN_NOT_OK(lk_node_note_fused(graph, producer, note_of(post_op->kind), error));
  }
  lk_node_set_output(graph, producer, 0, graph->nodes[node].outputs[0]);
  lk_graph_remove_node(graph, node);
  return LK_OK;
}

lk_status lk_pass_activation(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error) {
  lk_status status = LK_OK;
  lk_symbolic_shapes *shapes = NULL;
  LK_TRY(lk_symbolic_shapes_create(env, graph, &shapes, error));
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    if (!lk_node_is_plain(node) || node->n_outputs != 1) continue;
    activation act = {.input = node->inputs[0]};
    if (!lk_node_post_op(env, graph, node, &act.post_op) &&
        !read_linear(env, graph, shapes, node, &act)) {
      continue;
    }
    const lk_node *producer = lk_value_producer(graph, act.input);
    if (producer == NULL || producer->outputs[0] != act.input ||
        !lk_value_is_private(graph, act.input) || !lk_node_takes_post_ops(env, producer, 1) ||
        lk_symbolic_shape_dtype(shapes, act.input) != LK_F32) {
      continue;
    }
    LK_TRY(fuse(graph, (int32_t)n, &act, error));
    ++*out_changes;
  }
cleanup:
  lk_symbolic_shapes_destroy(shapes);
  return status;
}
