/* Finds patterns in a graph: from the root up, trying the orders of sums and products. */
#include <math.h>
#include <string.h>

#include "base/tensor.h"
#include "executor_glue/passes/pattern.h"
#include "executor_glue/passes/rewrite.h"

typedef struct matcher {
  const lk_pass_env *env;
  const lk_graph *graph;
  lk_match match;
} matcher;

/* Exporters write 1/6 as a float, or as a division by 6: equal within its rounding. Whole numbers
 * have none, and an exponent beside 2 makes NaN of what is negative. */
static bool is_close(double a, double b) {
  return b == floor(b) ? a == b : fabs(a - b) <= 1e-6 * fabs(b);
}

static bool is_text(const lk_text *text, const char *other) {
  return strlen(other) == text->length && memcmp(text->start, other, text->length) == 0;
}

static bool add_node(matcher *self, int32_t node) {
  lk_match *match = &self->match;
  for (uint32_t i = 0; i < match->n_nodes; i++) {
    if (match->nodes[i] == node) return true;
  }
  if (match->n_nodes == LK_TREE_NODES) return false;
  match->nodes[match->n_nodes++] = node;
  return true;
}

static void share_node(matcher *self, int32_t node) {
  lk_match *match = &self->match;
  for (uint32_t i = 0; i < match->n_nodes; i++) {
    if (match->nodes[i] == node) match->is_shared[i] = true;
  }
}

/* Both are constants, of the same type, shape and bytes. */
static bool is_equal(const lk_graph *graph, int32_t a, int32_t b) {
  if (a < 0 || b < 0) return false;
  if (!lk_value_is_constant(graph, a) || !lk_value_is_constant(graph, b)) return false;
  const lk_tensor *x = &graph->values[a].constant, *y = &graph->values[b].constant;
  int64_t bytes = 0;
  return x->data != NULL && y->data != NULL && x->desc.dtype == y->desc.dtype &&
         lk_shape_equal(&x->desc, &y->desc) &&
         lk_tensor_size(&x->desc, "", NULL, &bytes, NULL) == LK_OK &&
         memcmp(x->data, y->data, (size_t)bytes) == 0;
}

static bool bind_value(matcher *self, int32_t slot, int32_t value) {
  int32_t *bound = &self->match.values[slot];
  if (*bound == LK_NO_VALUE) *bound = value;
  return *bound == value || is_equal(self->graph, *bound, value);
}

static bool bind_number(matcher *self, const lk_tree_item *item, double number) {
  lk_match *match = &self->match;
  if (item->kind == LK_TREE_NUMBER) return is_close(number, item->number);
  if (item->kind != LK_TREE_SCALAR) return false;
  if (!match->has_number[item->slot]) {
    match->numbers[item->slot] = number;
    match->has_number[item->slot] = true;
  }
  return match->numbers[item->slot] == number;
}

static bool is_number(const lk_tree_item *item) {
  return item->kind == LK_TREE_NUMBER || item->kind == LK_TREE_SCALAR;
}

/* ---- rules ---- */

/* Over the last dimension alone, which stays with the size 1. */
static bool reduces_last(const matcher *self, const lk_node *node) {
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

static bool is_by_tanh(const matcher *self, const lk_node *node) {
  (void)self;
  return lk_node_attr_is_text(node, "approximate", "tanh");
}

static bool is_exact(const matcher *self, const lk_node *node) {
  return !is_by_tanh(self, node);
}

/* Softmax over the last dimension. */
static bool is_over_last(const matcher *self, const lk_node *node) {
  const int64_t axis = lk_node_attr_int(node, "axis", node->opset >= 13 ? -1 : 1);
  return axis == -1 || axis == lk_symbolic_shape_rank(self->env->shapes, node->inputs[0]) - 1;
}

/* Transpose: how its dimensions lie; NULL: their number is not known, or the perm is not given. */
static const int64_t *perm_of(const matcher *self, const lk_node *node, int32_t *out_rank) {
  const lk_attr *perm = lk_node_attr(node, "perm", LK_ATTR_INTS);
  *out_rank = lk_symbolic_shape_rank(self->env->shapes, node->inputs[0]);
  return perm != NULL && *out_rank >= 2 && perm->count == (uint32_t)*out_rank ? perm->data : NULL;
}

/* [batch][rows][heads][size] to [batch][heads][size][rows] */
static bool turns_rows(const matcher *self, const lk_node *node) {
  static const int64_t wanted[] = {0, 2, 3, 1};
  int32_t rank;
  const int64_t *dims = perm_of(self, node, &rank);
  return dims != NULL && rank == 4 && memcmp(dims, wanted, sizeof wanted) == 0;
}

/* A number so low that a score that it is added to, or put in the place of, has no weight. */
static bool is_filter(const matcher *self, int32_t value) {
  return value != LK_NO_VALUE && lk_value_is_weight(self->graph, value) &&
         lk_elements(&self->graph->values[value].constant.desc) == 1 &&
         lk_constant_number(&self->graph->values[value], 0) <= -1e30;
}

/* Where, by such a number. */
static bool fills(const matcher *self, const lk_node *node) {
  return node->n_inputs == 3 &&
         (is_filter(self, node->inputs[1]) || is_filter(self, node->inputs[2]));
}

/* Transpose of the last two dimensions. */
static bool turns_matrices(const matcher *self, const lk_node *node) {
  int32_t rank;
  const int64_t *dims = perm_of(self, node, &rank);
  if (dims == NULL) return false;
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] != (i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i)) return false;
  }
  return true;
}

/* Reshape that leaves the last two dimensions as they are. */
static bool keeps_matrices(const matcher *self, const lk_node *node) {
  lk_tensor_desc from, to;
  if (!lk_symbolic_shape_desc(self->env->shapes, node->inputs[0], &from) ||
      !lk_symbolic_shape_desc(self->env->shapes, node->outputs[0], &to) ||
      from.rank == LK_RANK_UNKNOWN || to.rank == LK_RANK_UNKNOWN || from.rank < 2 || to.rank < 2) {
    return false;
  }
  return from.dims[from.rank - 1] == to.dims[to.rank - 1] &&
         from.dims[from.rank - 2] == to.dims[to.rank - 2];
}

/* Of further inputs, the result has them, or nobody minds. */
static bool takes_more(const matcher *self, const lk_node *node) {
  (void)self, (void)node;
  return true;
}

/* ---- of scales and zero points ---- */

/* One scale, or along dimension `axis` of input 0, where that is one. */
static bool scales_along(const matcher *self, const lk_node *node, int32_t axis) {
  lk_tensor_desc scale;
  const int32_t rank = lk_symbolic_shape_rank(self->env->shapes, node->inputs[0]);
  if (node->n_inputs < 2 || lk_node_attr_int(node, "block_size", 0) != 0) return false;
  if (!lk_symbolic_shape_desc(self->env->shapes, node->inputs[1], &scale)) return false;
  if (scale.rank == LK_RANK_UNKNOWN) return false;
  if (scale.rank == 0 || (scale.rank == 1 && scale.dims[0] == 1)) return true;
  const int64_t of_node = lk_node_attr_int(node, "axis", 1);
  return axis >= 0 && axis < rank && (of_node == axis || of_node == (int64_t)axis - rank);
}

static bool has_one_scale(const matcher *self, const lk_node *node) {
  return scales_along(self, node, -1);
}

static bool scales_rows(const matcher *self, const lk_node *node) {
  return scales_along(self, node, 0);
}

static bool scales_columns(const matcher *self, const lk_node *node) {
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
static bool adds_bias(const matcher *self, const lk_node *node) {
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
static bool is_plain_gemm(const matcher *self, const lk_node *node) {
  const lk_node *b = node->n_inputs > 1 ? lk_value_producer(self->graph, node->inputs[1]) : NULL;
  const bool has_bias = node->n_inputs > 2 && node->inputs[2] != LK_NO_VALUE;
  const int32_t columns = lk_node_attr_int(node, "transB", 0) != 0 ? 0 : 1;
  return b != NULL && lk_node_attr_float(node, "alpha", 1) == 1 &&
         lk_node_attr_float(node, "beta", 1) == 1 && scales_along(self, b, columns) &&
         (!has_bias || adds_bias(self, node));
}

static bool has_bounds(const matcher *self, const lk_node *node) {
  lk_post_op post_op;
  return lk_node_post_op(self->env, self->graph, node, &post_op);
}

/* The bytes end where Relu or Clip before them does, or within, to half a step. */
static bool saturates_same(const matcher *self, const lk_node *node) {
  lk_post_op before;
  const lk_node *clip = lk_value_producer(self->graph, node->inputs[0]);
  if (node->n_inputs != 3 || clip == NULL || !has_one_scale(self, node)) return false;
  const lk_value *of_scale = known(self->graph, node->inputs[1]);
  const lk_value *zero = known(self->graph, node->inputs[2]);
  if (of_scale == NULL || zero == NULL) return false;
  const uint32_t dtype = zero->constant.desc.dtype;
  const double scale = number_at(of_scale, 0);
  if ((dtype != LK_U8 && dtype != LK_I8) || scale <= 0) return false;
  if (!lk_node_post_op(self->env, self->graph, clip, &before)) return false;
  const double least = (dtype == LK_U8 ? 0 : -128) - number_at(zero, 0);
  const bool starts_later = least * scale + 0.499 * scale >= (double)before.alpha;
  if (before.kind == LK_POST_RELU) return before.alpha == 0 && starts_later;
  return before.kind == LK_POST_CLIP && starts_later &&
         (least + 255) * scale - 0.499 * scale <= (double)before.beta;
}

static const struct {
  const char *name;
  bool (*holds)(const matcher *self, const lk_node *node);
} rules[] = {{"last", reduces_last},      {"by_tanh", is_by_tanh},   {"exact", is_exact},
             {"over_last", is_over_last}, {"turns", turns_matrices}, {"keeps", keeps_matrices},
             {"turns_rows", turns_rows},  {"fills", fills},          {"more", takes_more},
             {"one", has_one_scale},      {"rows", scales_rows},     {"columns", scales_columns},
             {"bias", adds_bias},         {"gemm", is_plain_gemm},   {"saturates", saturates_same},
             {"bounds", has_bounds}};

static bool rule_holds(const matcher *self, const lk_tree_item *item, const lk_node *node) {
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (is_text(&item->rule, rules[i].name)) return rules[i].holds(self, node);
  }
  return false;
}

/* ---- sums and products ---- */

/* A term of a sum or a factor of a product. */
typedef struct part {
  int32_t value;
  bool inverse; /* Neg(value), Reciprocal(value) */
} part;

typedef struct parts {
  bool is_product, nested; /* nested: inner nodes are taken apart, too */
  double number;
  bool has_number;
  part items[LK_TREE_ARGS];
  uint32_t count;
} parts;

static bool take_apart(matcher *self, int32_t node, bool inverse, parts *out);

static bool add_part(matcher *self, int32_t value, bool inverse, parts *out) {
  if (out->nested && lk_value_is_private(self->graph, value)) {
    const matcher before = *self;
    const parts so_far = *out;
    const int32_t producer = self->graph->values[value].producer;
    if (producer != LK_NO_NODE && take_apart(self, producer, inverse, out)) return true;
    *self = before;
    *out = so_far;
  }
  if (out->count == LK_TREE_ARGS) return false;
  out->items[out->count++] = (part){value, inverse};
  return true;
}

static void add_number(parts *out, double number, bool inverse) {
  if (out->is_product) {
    out->number = inverse ? out->number / number : out->number * number;
  } else {
    out->number = inverse ? out->number - number : out->number + number;
  }
  out->has_number = true;
}

/* False: the node is neither a sum nor a product, as wanted. */
static bool take_apart(matcher *self, int32_t node, bool inverse, parts *out) {
  const lk_node *n = &self->graph->nodes[node];
  lk_number_step step;
  const uint32_t kind = lk_node_arithmetic(self->env, n);
  const bool inverts = kind == LK_POST_SUB || kind == LK_POST_DIV;
  const bool fits = out->is_product ? kind == LK_POST_MUL || kind == LK_POST_DIV
                                    : kind == LK_POST_ADD || kind == LK_POST_SUB;
  if (!fits || !lk_node_is_plain(n) || !add_node(self, node)) return false;
  if (lk_node_number_step(self->env, self->graph, n, &step)) {
    add_number(out, (double)step.number, inverse != (inverts && !step.number_first));
    return add_part(self, step.operand, inverse != (inverts && step.number_first), out);
  }
  return n->inputs[0] != LK_NO_VALUE && n->inputs[1] != LK_NO_VALUE &&
         add_part(self, n->inputs[0], inverse, out) &&
         add_part(self, n->inputs[1], inverse != inverts, out);
}

static bool match_item(matcher *self, const lk_tree_item *item, int32_t value);

static bool match_part(matcher *self, const lk_tree_item *item, const part *of, const parts *all) {
  if (!of->inverse) return match_item(self, item, of->value);
  return item->kind == LK_TREE_NODE && is_text(&item->name, all->is_product ? "Reciprocal" : "Neg")
             ? match_item(self, item->args[0], of->value)
             : false;
}

/* The items from `index` on are some order of the parts that `used` leaves. */
static bool match_order(matcher *self, const lk_tree_item *item, uint32_t index, const parts *all,
                        uint32_t used) {
  if (index == all->count) return true;
  for (uint32_t i = 0; i < all->count; i++) {
    const matcher before = *self;
    if ((used >> i & 1) != 0) continue;
    if (match_part(self, item->args[index], &all->items[i], all) &&
        match_order(self, item, index + 1, all, used | 1u << i)) {
      return true;
    }
    *self = before;
  }
  return false;
}

static bool match_parts(matcher *self, const lk_tree_item *item, int32_t node, bool nested) {
  const matcher before = *self;
  const bool is_product = is_text(&item->name, "Mul");
  const lk_tree_item *last = item->args[item->n_args - 1];
  const uint32_t n_parts = item->n_args - (is_number(last) ? 1 : 0);
  parts all = {.is_product = is_product, .nested = nested, .number = is_product ? 1.0 : 0.0};
  bool matches = take_apart(self, node, false, &all) && all.count == n_parts;
  if (matches && is_number(last)) matches = all.has_number && bind_number(self, last, all.number);
  if (matches && !is_number(last)) matches = !all.has_number || all.number == (is_product ? 1 : 0);
  if (matches && match_order(self, item, 0, &all, 0)) return true;
  *self = before;
  return false;
}

/* ---- nodes ---- */

/* An activation: its numbers are the arguments behind the first. */
static bool match_activation(matcher *self, const lk_tree_item *item, const lk_node *node) {
  lk_post_op post_op;
  if (!lk_node_post_op(self->env, self->graph, node, &post_op)) return false;
  const double numbers[] = {(double)post_op.alpha, (double)post_op.beta};
  for (uint32_t i = 1; i < item->n_args; i++) {
    if (i > 2 || !bind_number(self, item->args[i], numbers[i - 1])) return false;
  }
  return match_item(self, item->args[0], node->inputs[0]);
}

static bool match_inputs(matcher *self, const lk_tree_item *item, const lk_node *node) {
  const bool has_rule = item->rule.length > 0;
  if (node->n_inputs > item->n_args && !has_rule) return false;
  if (has_rule && !rule_holds(self, item, node)) return false;
  for (uint32_t i = 0; i < item->n_args; i++) {
    const int32_t value = i < node->n_inputs ? node->inputs[i] : LK_NO_VALUE;
    if (!match_item(self, item->args[i], value)) return false;
  }
  return true;
}

static bool match_node(matcher *self, const lk_tree_item *item, int32_t number) {
  const lk_node *node = &self->graph->nodes[number];
  if (is_text(&item->name, "Mul") || is_text(&item->name, "Add")) {
    return match_parts(self, item, number, true) || match_parts(self, item, number, false);
  }
  if (!lk_node_is_plain(node) || node->domain[0] != '\0' || !is_text(&item->name, node->op_type) ||
      lk_node_is_used(self->graph, node, 1) || !add_node(self, number)) {
    return false;
  }
  if (item->is_shared) share_node(self, number);
  const bool has_numbers = item->n_args > 1 && is_number(item->args[1]);
  lk_post_op post_op;
  if (has_numbers && lk_node_post_op(self->env, self->graph, node, &post_op)) {
    return match_activation(self, item, node);
  }
  return match_inputs(self, item, node);
}

static bool match_number(matcher *self, const lk_tree_item *item, int32_t value) {
  return lk_value_is_weight(self->graph, value) &&
         lk_elements(&self->graph->values[value].constant.desc) == 1 &&
         bind_number(self, item, lk_constant_number(&self->graph->values[value], 0));
}

/* The input that is missing behind the others, or among them. */
static bool match_absent(matcher *self, const lk_tree_item *item) {
  return item->is_optional && bind_value(self, item->slot, LK_ABSENT_VALUE);
}

static bool match_item(matcher *self, const lk_tree_item *item, int32_t value) {
  const matcher before = *self;
  bool matches = false;
  if (value == LK_NO_VALUE) return match_absent(self, item);
  switch (item->kind) {
  case LK_TREE_VALUE:
    matches = bind_value(self, item->slot, value);
    break;
  case LK_TREE_NUMBER:
  case LK_TREE_SCALAR:
    matches = match_number(self, item, value);
    break;
  case LK_TREE_NODE: {
    const lk_node *producer = lk_value_producer(self->graph, value);
    matches = producer != NULL && producer->outputs[0] == value &&
              match_node(self, item, self->graph->values[value].producer) &&
              (item->slot < 0 || bind_value(self, item->slot, value));
    break;
  }
  case LK_TREE_EITHER:
    for (uint32_t i = 0; i < item->n_args && !matches; i++) {
      matches = match_item(self, item->args[i], value);
    }
    break;
  }
  if (!matches) *self = before;
  return matches;
}

/* ---- the whole ---- */

static uint32_t uses_by(const lk_graph *graph, const lk_match *match, int32_t value) {
  uint32_t uses = 0;
  for (uint32_t i = 0; i < match->n_nodes; i++) {
    const lk_node *node = &graph->nodes[match->nodes[i]];
    for (uint32_t k = 0; k < node->n_inputs; k++) uses += node->inputs[k] == value ? 1 : 0;
  }
  return uses;
}

/* What inner nodes make is used by nodes of the match alone, but for shared ones. */
static bool is_closed(const lk_graph *graph, const lk_match *match) {
  for (uint32_t i = 1; i < match->n_nodes; i++) {
    const int32_t value = graph->nodes[match->nodes[i]].outputs[0];
    if (match->is_shared[i]) continue;
    if (graph->values[value].n_uses != uses_by(graph, match, value)) return false;
  }
  return true;
}

/* What the result reads is still made when the nodes of the match are gone: a sum of an inner value
 * and itself, for one, binds it as if it came from elsewhere. */
static bool is_apart(const lk_graph *graph, const lk_tree_result *result, const lk_match *match) {
  for (uint32_t i = 0; i < result->n_inputs; i++) {
    const int32_t value = match->values[result->inputs[i]];
    const int32_t producer = value >= 0 ? graph->values[value].producer : LK_NO_NODE;
    for (uint32_t k = 0; producer != LK_NO_NODE && k < match->n_nodes; k++) {
      if (match->nodes[k] == producer) return false;
    }
  }
  return true;
}

bool lk_pattern_match(const lk_pass_env *env, const lk_graph *graph, const lk_pattern *pattern,
                      int32_t root, lk_match *out) {
  matcher self = {.env = env, .graph = graph};
  for (uint32_t i = 0; i < LK_TREE_VALUES; i++) self.match.values[i] = LK_NO_VALUE;
  if (graph->nodes[root].dead || !add_node(&self, root)) return false;
  if (!match_node(&self, pattern->root, root)) return false;
  if (pattern->root->slot >= 0) {
    self.match.values[pattern->root->slot] = graph->nodes[root].outputs[0];
  }
  if (!is_closed(graph, &self.match) || !is_apart(graph, &pattern->result, &self.match)) {
    return false;
  }
  *out = self.match;
  return true;
}
