/* Fuses activations, and arithmetic with one constant number, into the operator that makes their
 * input, as post-ops. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "executor_glue/passes/rewrite.h"

lk_status lk_pass_activation(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error);

typedef struct activation {
  int32_t input; /* the value that it is applied to */
  lk_post_op post_op;
  const char *note;
} activation;

static bool is_swish(const lk_node *node) {
  return !node->dead && strcmp(node->domain, LK_FUSED_DOMAIN) == 0 &&
         strcmp(node->op_type, "Swish") == 0;
}

static bool read_unary(const lk_graph *graph, const lk_node *node, activation *out) {
  lk_post_op *post_op = &out->post_op;
  out->input = node->inputs[0];
  if (lk_node_is(node, "Relu")) {
    post_op->kind = LK_POST_RELU;
    out->note = "relu";
  } else if (lk_node_is(node, "Clip")) {
    post_op->kind = LK_POST_CLIP;
    out->note = "clip";
    return lk_clip_bounds(graph, node, &post_op->alpha, &post_op->beta);
  } else if (lk_node_is(node, "Sigmoid")) {
    post_op->kind = LK_POST_SIGMOID;
    out->note = "sigmoid";
  } else if (lk_node_is(node, "HardSigmoid")) {
    post_op->kind = LK_POST_HARDSIGMOID;
    post_op->alpha = lk_node_attr_float(node, "alpha", 0.2f);
    post_op->beta = lk_node_attr_float(node, "beta", 0.5f);
    out->note = "hard_sigmoid";
  } else if (lk_node_is(node, "HardSwish")) {
    post_op->kind = LK_POST_HARDSWISH;
    out->note = "hard_swish";
  } else if (is_swish(node)) {
    post_op->kind = LK_POST_SWISH;
    post_op->alpha = lk_node_attr_float(node, "alpha", 1.0f);
    out->note = "swish";
  } else {
    return false;
  }
  return true;
}

/* alpha * x + beta from Add, Sub, Mul or Div with one number. */
static bool read_linear(const lk_graph *graph, const lk_symbolic_shapes *classes,
                        const lk_node *node, activation *out) {
  const bool add = lk_node_is(node, "Add"), sub = lk_node_is(node, "Sub");
  const bool mul = lk_node_is(node, "Mul"), div = lk_node_is(node, "Div");
  if ((!add && !sub && !mul && !div) || node->n_inputs != 2) return false;
  float number = 0.0f;
  const bool left = lk_value_is_scalar(graph, node->inputs[0], &number);
  if (!left && !lk_value_is_scalar(graph, node->inputs[1], &number)) return false;
  out->input = node->inputs[left ? 1 : 0];
  if (out->input == LK_NO_VALUE) return false;
  /* A constant of one element and a high rank would raise the rank of the result. */
  const int32_t constant = node->inputs[left ? 0 : 1];
  if (!lk_symbolic_shape_takes(classes, out->input, &graph->values[constant].constant.desc)) {
    return false;
  }
  float alpha = 1.0f, beta = 0.0f;
  if (add) beta = number;
  if (mul) alpha = number;
  if (sub) {
    alpha = left ? -1.0f : 1.0f;
    beta = left ? number : -number;
  }
  if (div) {
    if (left || number == 0.0f) return false;
    alpha = 1.0f / number;
    if (alpha == 0.0f) return false; /* 1 / number is too small for a float */
  }
  out->post_op.kind = LK_POST_LINEAR;
  out->post_op.alpha = alpha;
  out->post_op.beta = beta;
  out->note = "linear";
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
  lk_status status = LK_OK;
  const int32_t producer = graph->values[act->input].producer;
  const lk_post_op *post_op = &act->post_op;
  const bool nothing =
      post_op->kind == LK_POST_LINEAR && post_op->alpha == 1.0f && post_op->beta == 0.0f;
  if (!nothing && !merge_linear(&graph->nodes[producer], post_op)) {
    LK_TRY(lk_node_append_post_op(graph, producer, *post_op, error));
    LK_TRY(lk_node_note_fused(graph, producer, act->note, error));
  }
  lk_node_set_output(graph, producer, 0, graph->nodes[node].outputs[0]);
  lk_graph_remove_node(graph, node);
cleanup:
  return status;
}

lk_status lk_pass_activation(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error) {
  lk_symbolic_shapes *classes = NULL;
  lk_status status = lk_symbolic_shapes_create(graph, &classes, error);
  if (status != LK_OK) return status;
  for (size_t n = 0; n < graph->n_nodes; n++) {
    const lk_node *node = &graph->nodes[n];
    if (node->dead || node->n_post_ops > 0 || node->n_inputs == 0 || node->n_outputs != 1 ||
        node->inputs[0] == LK_NO_VALUE || node->outputs[0] == LK_NO_VALUE) {
      continue;
    }
    activation act = {.input = LK_NO_VALUE, .post_op = {.input = -1}};
    if (!read_unary(graph, node, &act) && !read_linear(graph, classes, node, &act)) continue;
    const lk_node *producer = lk_value_producer(graph, act.input);
    if (producer == NULL || producer->outputs[0] != act.input ||
        !lk_value_is_private(graph, act.input) || !lk_node_takes_post_ops(env, producer, 1) ||
        lk_symbolic_shape_dtype(classes, act.input) != LK_F32) {
      continue;
    }
    LK_TRY(fuse(graph, (int32_t)n, &act, error));
    ++*out_changes;
  }
cleanup:
  lk_symbolic_shapes_destroy(classes);
  return status;
}
