/* Fuses activations, and arithmetic with one constant number, into the operator that makes their
 * input, as post-ops. Every step is rounded as its node says: a quotient stays one, unless a
 * product gives the same bits. */
#include <math.h>

#include "base/names.h"
#include "base/status.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/passes/rewrite.h"

typedef struct activation {
  int32_t input; /* the value that it is applied to */
  lk_post_op post_op;
} activation;

/* A post-op from Add, Sub, Mul or Div with one number. A product has the beta -0, which leaves its
 * sign even where it is 0. */
static bool read_number_step(const lk_pass_env *env, const lk_graph *graph, const lk_node *node,
                             activation *out, lk_miss *miss) {
  lk_number_step step;
  if (!lk_node_number_step(env, graph, node, &step)) return false;
  uint32_t kind = LK_POST_LINEAR;
  float alpha = 1.0f, beta = -0.0f;
  out->input = step.operand;
  switch (step.kind) {
  case LK_POST_ADD:
    beta = step.number;
    break;
  case LK_POST_MUL:
    alpha = step.number;
    break;
  case LK_POST_SUB:
    alpha = step.number_first ? -1.0f : 1.0f;
    beta = step.number_first ? step.number : -step.number;
    break;
  default: /* LK_POST_DIV */
    if (step.number_first) {
      return lk_miss_note(miss, "", "a division of a number, %g, is not fused",
                          (double)step.number);
    }
    alpha = step.number;
    if (lk_has_exact_reciprocal(step.number)) {
      alpha = 1.0f / step.number;
    } else {
      kind = LK_POST_QUOTIENT;
      beta = 0.0f;
    }
  }
  out->post_op = (lk_post_op){kind, -1, alpha, beta};
  if (isfinite(alpha) && isfinite(beta)) return true;
  return lk_miss_note(miss, "", "its number, %g, is not finite", (double)step.number);
}

/* The post-op leaves every x as it is, -0 too. */
static bool does_nothing(const lk_post_op *post_op) {
  return post_op->kind == LK_POST_LINEAR && post_op->alpha == 1.0f && post_op->beta == 0.0f &&
         signbit(post_op->beta);
}

/* Puts a sum behind a product that is exact, by a power of two, into that one. A product that is
 * not, because it overflows or becomes denormal, must not be told from an exact one by the sum: so
 * the number that is added is far from both ends. */
static bool merge_sum(lk_node *node, const lk_post_op *next) {
  if (next->kind != LK_POST_LINEAR || node->n_post_ops == 0) return false;
  lk_post_op *last = &node->post_ops[node->n_post_ops - 1];
  if (last->kind != LK_POST_LINEAR || last->beta != 0.0f || !signbit(last->beta)) return false;
  if (fabsf(next->alpha) != 1.0f || !lk_is_power_of_two(last->alpha)) return false;
  if (fabsf(next->beta) < 0x1p-100f || fabsf(next->beta) > 0x1p100f) return false;
  last->alpha *= next->alpha;
  last->beta = next->beta;
  return true;
}

static lk_status fuse(lk_graph *graph, int32_t target, const lk_post_op *post_op, lk_error *error) {
  if (does_nothing(post_op) || merge_sum(&graph->nodes[target], post_op)) return LK_OK;
  LK_RETURN_NOT_OK(lk_node_append_post_op(graph, target, *post_op, error));
  return lk_node_note_fused(graph, target, lk_post_op_name(post_op->kind), error);
}

/* The node that `node` can become a post-op of, and which one. */
static int32_t find_target(const lk_pass_env *env, const lk_graph *graph, const lk_node *node,
                           activation *out, lk_miss *miss) {
  *out = (activation){.input = node->inputs[0]};
  if (!lk_node_post_op(env, graph, node, &out->post_op, miss) &&
      !read_number_step(env, graph, node, out, miss)) {
    /* Its numbers do not matter where what it reads could not take it anyway. */
    if (miss != NULL) miss->is_near &= lk_value_takes_post_ops(env, graph, out->input);
    return LK_NO_NODE;
  }
  return lk_post_op_target(env, graph, out->input, 1, miss);
}

lk_status lk_pass_activation(const lk_pass_env *env, lk_graph *graph, uint64_t *out_changes,
                             lk_error *error) {
  for (size_t n = 0; n < graph->n_nodes; n++) {
    activation act;
    const lk_node *node = &graph->nodes[n];
    lk_miss room, *miss = lk_refusals_listen(env->refusals, &room);
    LK_RETURN_NOT_OK(lk_step(error));
    if (!lk_node_is_plain(node) || node->n_outputs != 1) continue;
    const int32_t target = find_target(env, graph, node, &act, miss);
    if (target == LK_NO_NODE) lk_refusals_add(env->refusals, graph, (int32_t)n, miss);
    if (target == LK_NO_NODE) continue;
    LK_RETURN_NOT_OK(fuse(graph, target, &act.post_op, error));
    lk_graph_absorb_node(graph, target, (int32_t)n);
    ++*out_changes;
  }
  return LK_OK;
}
