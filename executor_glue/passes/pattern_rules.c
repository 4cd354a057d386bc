/* The rules that trees name: what a node must be like, beyond its operator and its inputs. */
#include <math.h>
#include <string.h>

#include "base/tensor.h"
#include "executor_glue/passes/pattern.h"
#include "executor_glue/passes/rewrite.h"

/* Where a node is. */
typedef struct scope {
  const lk_pass_env *env;
  const lk_graph *graph;
} scope;

/* Over the last dimension alone, which stays with the size 1. */
static bool reduces_last(const scope *self, const lk_node *node) {
  int64_t axis = 0;
  const int32_t rank = lk_symbolic_shape_rank(self->env->shapes, node->inputs[0]);
  if (lk_node_attr_int(node, "keepdims", 1) != 1) return false;
  if (node->n_inputs > 1) {
    if (!lk_value_is_constant(self->graph, node->inputs[1])) return false;
    const lk_value *axes = &self->graph->values[node->inputs[1]];
    if (axes->constant.data == NULL || lk_elements(&axes->constant.desc) != 1) return false;
    axis = (int64_t)lk_constant_number(axes, 0);
  } else {
    axis = lk_node_attr_int(node, "axes", rank); /* of several, or none: no axis that there is */
  }
  return axis == -1 || (rank > 0 && axis == rank - 1);
}

static bool is_by_tanh(const scope *self, const lk_node *node) {
  (void)self;
  return lk_node_attr_is_text(node, "approximate", "tanh");
}

static bool is_exact(const scope *self, const lk_node *node) {
  return !is_by_tanh(self, node);
}

/* Softmax over the last dimension. */
static bool is_over_last(const scope *self, const lk_node *node) {
  const int64_t axis = lk_node_attr_int(node, "axis", node->opset >= 13 ? -1 : 1);
  return axis == -1 || axis == lk_symbolic_shape_rank(self->env->shapes, node->inputs[0]) - 1;
}

/* Softmax along one dimension, as it is since opset 13. */
static bool is_along_one(const scope *self, const lk_node *node) {
  (void)self;
  return node->opset >= 13;
}

/* Transpose: how its dimensions lie; NULL: their number is not known, or the perm is not given. */
static const int64_t *perm_of(const scope *self, const lk_node *node, int32_t *out_rank) {
  const lk_attr *perm = lk_node_attr(node, "perm", LK_ATTR_INTS);
  *out_rank = lk_symbolic_shape_rank(self->env->shapes, node->inputs[0]);
  return perm != NULL && *out_rank >= 2 && perm->count == (uint32_t)*out_rank ? perm->data : NULL;
}

/* [batch][rows][heads][size] to [batch][heads][size][rows] */
static bool turns_rows(const scope *self, const lk_node *node) {
  static const int64_t wanted[] = {0, 2, 3, 1};
  int32_t rank;
  const int64_t *dims = perm_of(self, node, &rank);
  return dims != NULL && rank == 4 && memcmp(dims, wanted, sizeof wanted) == 0;
}

/* A number so low that a score that it is added to, or put in the place of, has no weight. */
static bool is_filter(const scope *self, int32_t value) {
  return value != LK_NO_VALUE && lk_value_is_weight(self->graph, value) &&
         lk_elements(&self->graph->values[value].constant.desc) == 1 &&
         lk_constant_number(&self->graph->values[value], 0) <= -1e30;
}

/* Where, by such a number. */
static bool fills(const scope *self, const lk_node *node) {
  return node->n_inputs == 3 &&
         (is_filter(self, node->inputs[1]) || is_filter(self, node->inputs[2]));
}

/* Transpose of the last two dimensions. */
static bool turns_matrices(const scope *self, const lk_node *node) {
  int32_t rank;
  const int64_t *dims = perm_of(self, node, &rank);
  if (dims == NULL) return false;
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] != (i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i)) return false;
  }
  return true;
}

/* Reshape that leaves the last two dimensions as they are. */
static bool keeps_matrices(const scope *self, const lk_node *node) {
  lk_tensor_desc from, to;
  if (!lk_symbolic_shape_desc(self->env->shapes, node->inputs[0], &from) ||
      !lk_symbolic_shape_desc(self->env->shapes, node->outputs[0], &to) ||
      from.rank == LK_RANK_UNKNOWN || to.rank == LK_RANK_UNKNOWN || from.rank < 2 || to.rank < 2) {
    return false;
  }
  return from.dims[from.rank - 1] == to.dims[to.rank - 1] &&
         from.dims[from.rank - 2] == to.dims[to.rank - 2];
}

/* All elements of a constant are `number`. */
static bool is_filled(const lk_graph *graph, int32_t value, double number) {
  if (!lk_value_is_weight(graph, value)) return false;
  const lk_value *v = &graph->values[value];
  for (int64_t i = 0; i < lk_elements(&v->constant.desc); i++) {
    if (lk_constant_number(v, (size_t)i) != number) return false;
  }
  return true;
}

/* A norm whose scale is 1 and whose bias is 0. */
static bool is_bare_norm(const scope *self, const lk_node *node) {
  return node->n_inputs == 3 && is_filled(self->graph, node->inputs[1], 1) &&
         is_filled(self->graph, node->inputs[2], 0);
}

/* Reshape of [batch][channels]... to [batch][groups][elements of a group]. */
static bool makes_groups(const scope *self, const lk_node *node) {
  lk_tensor_desc from, to;
  return lk_symbolic_shape_desc(self->env->shapes, node->inputs[0], &from) &&
         lk_symbolic_shape_desc(self->env->shapes, node->outputs[0], &to) &&
         from.rank != LK_RANK_UNKNOWN && from.rank >= 2 && to.rank == 3 &&
         from.dims[0] == to.dims[0];
}

/* Of further inputs, the result has them, or nobody minds. */
static bool takes_more(const scope *self, const lk_node *node) {
  (void)self, (void)node;
  return true;
}

/* ---- of scales and zero points ---- */

/* One scale, or along dimension `axis` of input 0, where that is one. */
static bool scales_along(const scope *self, const lk_node *node, int32_t axis) {
  lk_tensor_desc scale;
  const int32_t rank = lk_symbolic_shape_rank(self->env->shapes, node->inputs[0]);
  if (node->n_inputs < 2 || lk_node_attr_int(node, "block_size", 0) != 0) return false;
  if (!lk_symbolic_shape_desc(self->env->shapes, node->inputs[1], &scale)) return false;
  if (scale.rank == LK_RANK_UNKNOWN) return false;
  if (scale.rank == 0 || (scale.rank == 1 && scale.dims[0] == 1)) return true;
  const int64_t of_node = lk_node_attr_int(node, "axis", 1);
  return axis >= 0 && axis < rank && (of_node == axis || of_node == (int64_t)axis - rank);
}

static bool has_one_scale(const scope *self, const lk_node *node) {
  return scales_along(self, node, -1);
}

static bool scales_rows(const scope *self, const lk_node *node) {
  return scales_along(self, node, 0);
}

static bool scales_columns(const scope *self, const lk_node *node) {
  return scales_along(self, node, lk_symbolic_shape_rank(self->env->shapes, node->inputs[0]) - 1);
}

/* A constant with bytes, of at least one element. */
static const lk_value *known(const lk_graph *graph, int32_t value) {
  if (value < 0 || !lk_value_is_constant(graph, value)) return NULL;
  const lk_value *v = &graph->values[value];
  return v->constant.data != NULL && lk_elements(&v->constant.desc) > 0 ? v : NULL;
}

static double number_at(const lk_value *value, int64_t index) {
  return lk_constant_number(value, lk_elements(&value->constant.desc) > 1 ? (size_t)index : 0);
}

/* The third input is zero in all its elements, or absent. */
static bool has_no_zero(const lk_graph *graph, const lk_node *node) {
  if (node->n_inputs < 3 || node->inputs[2] == LK_NO_VALUE) return true;
  const lk_value *zero = known(graph, node->inputs[2]);
  for (int64_t i = 0; zero != NULL && i < lk_elements(&zero->constant.desc); i++) {
    if (number_at(zero, i) != 0) return false;
  }
  return zero != NULL;
}

/* Whole numbers are added to the sums as they are: the bias has the scale that the sums have. */
static bool adds_bias(const scope *self, const lk_node *node) {
  const lk_value *scales[3];
  for (uint32_t i = 0; i < 3; i++) {
    const lk_node *from = i < node->n_inputs ? lk_value_producer(self->graph, node->inputs[i]) : 0;
    if (from == NULL || from->n_inputs < 2 || !lk_node_is(from, "DequantizeLinear")) return false;
    if (i == 2 && !has_no_zero(self->graph, from)) return false;
    scales[i] = known(self->graph, from->inputs[1]);
    if (scales[i] == NULL) return false;
  }
  const int64_t of_w = lk_elements(&scales[1]->constant.desc);
  const int64_t of_bias = lk_elements(&scales[2]->constant.desc);
  if (of_w > 1 && of_bias > 1 && of_w != of_bias) return false;
  for (int64_t i = 0; i < of_w || i < of_bias; i++) {
    const double sums = number_at(scales[0], 0) * number_at(scales[1], i);
    if (fabs(number_at(scales[2], i) - sums) > 1e-5 * fabs(sums)) return false;
  }
  return true;
}

/* Its sums are what it makes, but for a bias; B has one scale, or one for each column. */
static bool is_plain_gemm(const scope *self, const lk_node *node) {
  const lk_node *b = node->n_inputs > 1 ? lk_value_producer(self->graph, node->inputs[1]) : NULL;
  const bool has_bias = node->n_inputs > 2 && node->inputs[2] != LK_NO_VALUE;
  const int32_t columns = lk_node_attr_int(node, "transB", 0) != 0 ? 0 : 1;
  return b != NULL && lk_node_attr_float(node, "alpha", 1) == 1 &&
         lk_node_attr_float(node, "beta", 1) == 1 && scales_along(self, b, columns) &&
         (!has_bias || adds_bias(self, node));
}

static bool has_bounds(const scope *self, const lk_node *node) {
  lk_post_op post_op;
  return lk_node_post_op(self->env, self->graph, node, &post_op, NULL);
}

/* The bytes end where Relu or Clip before them does, or within, to half a step. */
static bool saturates_same(const scope *self, const lk_node *node) {
  lk_post_op before;
  const lk_node *clip = lk_value_producer(self->graph, node->inputs[0]);
  if (node->n_inputs != 3 || clip == NULL || !has_one_scale(self, node)) return false;
  const lk_value *of_scale = known(self->graph, node->inputs[1]);
  const lk_value *zero = known(self->graph, node->inputs[2]);
  if (of_scale == NULL || zero == NULL) return false;
  const uint32_t dtype = zero->constant.desc.dtype;
  const double scale = number_at(of_scale, 0);
  if ((dtype != LK_U8 && dtype != LK_I8) || scale <= 0) return false;
  if (!lk_node_post_op(self->env, self->graph, clip, &before, NULL)) return false;
  const double least = (dtype == LK_U8 ? 0 : -128) - number_at(zero, 0);
  const bool starts_later = least * scale + 0.499 * scale >= (double)before.alpha;
  if (before.kind == LK_POST_RELU) return before.alpha == 0 && starts_later;
  return before.kind == LK_POST_CLIP && starts_later &&
         (least + 255) * scale - 0.499 * scale <= (double)before.beta;
}

static const struct {
  const char *name;
  bool (*holds)(const scope *self, const lk_node *node);
  const char *otherwise; /* what is said of a node for which it does not hold */
} rules[] = {{"last", reduces_last, "does not reduce the last dimension alone, and keep it"},
             {"by_tanh", is_by_tanh, "is not approximated by tanh"},
             {"exact", is_exact, "is approximated"},
             {"over_last", is_over_last, "is not over the last dimension"},
             {"turns", turns_matrices, "does not change the last two dimensions alone"},
             {"keeps", keeps_matrices, "is not known to keep the last two dimensions"},
             {"turns_rows", turns_rows, "does not move the rows behind the heads"},
             {"fills", fills, "does not put a constant of -1e30 or less in the place of scores"},
             {"more", takes_more, ""},
             {"one", has_one_scale, "does not have one scale for all elements"},
             {"rows", scales_rows, "does not have one scale, or one for each row"},
             {"columns", scales_columns, "does not have one scale, or one for each column"},
             {"bias", adds_bias, "has a bias whose scales are not those of the sums"},
             {"gemm", is_plain_gemm, "has factors, scales or a bias that bytes do not have"},
             {"saturates", saturates_same, "does not end where the bytes end"},
             {"bounds", has_bounds, "has bounds that are not constants"},
             {"along_one", is_along_one, "is over several dimensions, as before opset 13"},
             {"bare", is_bare_norm, "has a scale that is not 1, or a bias that is not 0"},
             {"grouped", makes_groups, "is not known to make groups of channels"}};

bool lk_pattern_rule_holds(const lk_text *rule, const lk_pass_env *env, const lk_graph *graph,
                           const lk_node *node) {
  const scope self = {env, graph};
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (lk_text_is(rule, rules[i].name)) return rules[i].holds(&self, node);
  }
  return false;
}

const char *lk_pattern_rule_otherwise(const lk_text *rule) {
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (lk_text_is(rule, rules[i].name)) return rules[i].otherwise;
  }
  return "";
}
