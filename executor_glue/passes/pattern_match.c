/* Finds patterns in a graph: from the root up, trying the orders of sums and products. */
#include <math.h>
#include <string.h>

#include "base/tensor.h"
#include "executor_glue/passes/pattern.h"
#include "executor_glue/passes/rewrite.h"

/* The one condition that did not hold, where a matcher goes on without it. */
typedef struct condition {
  const char *otherwise; /* as of lk_pattern_rule_otherwise; NULL: all have held */
  int32_t node, value;   /* what it says it of: a node, or LK_NO_NODE and a value */
} condition;

typedef struct matcher {
  const lk_pass_env *env;
  const lk_graph *graph;
  bool is_lenient; /* goes on without one condition, and notes it */
  condition missed;
  lk_match match;
} matcher;

/* Whether to go on: the condition holds, or it is the first that does not and somebody asks. */
static bool holds(matcher *self, bool condition_holds, int32_t node, int32_t value,
                  const char *otherwise) {
  if (condition_holds) return true;
  if (!self->is_lenient || self->missed.otherwise != NULL) return false;
  self->missed = (condition){otherwise, node, value};
  return true;
}

/* Exporters write 1/6 as a float, or as a division by 6: equal within its rounding. Whole numbers
 * have none, and an exponent beside 2 makes NaN of what is negative. */
static bool is_close(double a, double b) {
  return b == floor(b) ? a == b : fabs(a - b) <= 1e-6 * fabs(b);
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

/* False: the graph would not compute the same by one number. A product that leaves the range of
 * normal f32 rounds what it is of to 0 or infinity where the nodes do not, and a second summand may
 * be what rounded the first sum. */
static bool add_number(parts *out, double number, bool inverse) {
  if (out->is_product) {
    out->number = inverse ? out->number / number : out->number * number;
  } else {
    out->number = inverse ? out->number - number : out->number + number;
  }
  const bool is_second = out->has_number;
  out->has_number = true;
  return out->is_product ? out->number == 0 || isnormal((float)out->number) : !is_second;
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
    return add_number(out, (double)step.number, inverse != (inverts && !step.number_first)) &&
           add_part(self, step.operand, inverse != (inverts && step.number_first), out);
  }
  return n->inputs[0] != LK_NO_VALUE && n->inputs[1] != LK_NO_VALUE &&
         add_part(self, n->inputs[0], inverse, out) &&
         add_part(self, n->inputs[1], inverse != inverts, out);
}

static bool match_item(matcher *self, const lk_tree_item *item, int32_t value);

static bool match_part(matcher *self, const lk_tree_item *item, const part *of, const parts *all) {
  if (!of->inverse) return match_item(self, item, of->value);
  return item->kind == LK_TREE_NODE &&
                 lk_text_is(&item->name, all->is_product ? "Reciprocal" : "Neg")
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
  const bool is_product = lk_text_is(&item->name, "Mul");
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
  if (!lk_node_post_op(self->env, self->graph, node, &post_op, NULL)) return false;
  const double numbers[] = {(double)post_op.alpha, (double)post_op.beta};
  for (uint32_t i = 1; i < item->n_args; i++) {
    if (i > 2 || !bind_number(self, item->args[i], numbers[i - 1])) return false;
  }
  return match_item(self, item->args[0], node->inputs[0]);
}

/* A number beside a value may have any rank, and must not raise that of what is made. Rules look at
 * that themselves, or their trees have results of several inputs, whose shapes are compared. */
static bool keeps_rank(const matcher *self, const lk_tree_item *item, const lk_node *node,
                       uint32_t index) {
  if (index == 0 || item->rule.length > 0 || !is_number(item->args[index])) return true;
  return lk_symbolic_shape_takes(self->env->shapes, node->inputs[0],
                                 &self->graph->values[node->inputs[index]].constant.desc);
}

static bool match_inputs(matcher *self, const lk_tree_item *item, const lk_node *node) {
  const bool has_rule = item->rule.length > 0;
  if (node->n_inputs > item->n_args && !has_rule) return false;
  if (has_rule && !holds(self, lk_pattern_rule_holds(&item->rule, self->env, self->graph, node),
                         (int32_t)(node - self->graph->nodes), LK_NO_VALUE,
                         lk_pattern_rule_otherwise(&item->rule))) {
    return false;
  }
  for (uint32_t i = 0; i < item->n_args; i++) {
    const int32_t value = i < node->n_inputs ? node->inputs[i] : LK_NO_VALUE;
    if (!match_item(self, item->args[i], value)) return false;
    if (value != LK_NO_VALUE && !keeps_rank(self, item, node, i)) return false;
  }
  return true;
}

static bool match_node(matcher *self, const lk_tree_item *item, int32_t number) {
  const lk_node *node = &self->graph->nodes[number];
  if (lk_text_is(&item->name, "Mul") || lk_text_is(&item->name, "Add")) {
    return match_parts(self, item, number, true) || match_parts(self, item, number, false);
  }
  if (!lk_node_is_plain(node) || node->domain[0] != '\0' ||
      !lk_text_is(&item->name, node->op_type) || lk_node_is_used(self->graph, node, 1) ||
      !add_node(self, number)) {
    return false;
  }
  if (item->is_shared) share_node(self, number);
  const bool has_numbers = item->n_args > 1 && is_number(item->args[1]);
  lk_post_op post_op;
  if (has_numbers && lk_node_post_op(self->env, self->graph, node, &post_op, NULL)) {
    return match_activation(self, item, node);
  }
  return match_inputs(self, item, node);
}

static bool match_number(matcher *self, const lk_tree_item *item, int32_t value) {
  if (!lk_value_is_constant(self->graph, value)) {
    return holds(self, false, LK_NO_NODE, value, "is not a constant: it comes with each run");
  }
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
static bool is_closed(matcher *self) {
  const lk_match *match = &self->match;
  for (uint32_t i = 1; i < match->n_nodes; i++) {
    const int32_t value = self->graph->nodes[match->nodes[i]].outputs[0];
    const bool is_inner = self->graph->values[value].n_uses == uses_by(self->graph, match, value);
    if (match->is_shared[i]) continue;
    if (!holds(self, is_inner, LK_NO_NODE, value, "is also used outside of these operators")) {
      return false;
    }
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

static bool match_tree(matcher *self, const lk_pattern *pattern, int32_t root) {
  for (uint32_t i = 0; i < LK_TREE_VALUES; i++) self->match.values[i] = LK_NO_VALUE;
  if (self->graph->nodes[root].dead || !add_node(self, root)) return false;
  if (!match_node(self, pattern->root, root)) return false;
  if (pattern->root->slot >= 0) {
    self->match.values[pattern->root->slot] = self->graph->nodes[root].outputs[0];
  }
  return is_closed(self) && is_apart(self->graph, &pattern->result, &self->match);
}

/* Tells which condition does not hold of what is such a tree otherwise. */
static void tell_condition(const lk_pass_env *env, const lk_graph *graph, const lk_pattern *pattern,
                           int32_t root, lk_miss *miss) {
  matcher self = {.env = env, .graph = graph, .is_lenient = true};
  if (!match_tree(&self, pattern, root) || self.missed.otherwise == NULL) return;
  const condition *missed = &self.missed;
  miss->is_tree = true;
  if (missed->node != LK_NO_NODE) {
    const lk_node *node = &graph->nodes[missed->node];
    (void)lk_miss_note(miss, "", "%s '%s' %s", node->op_type, lk_node_label(graph, node),
                       missed->otherwise);
  } else {
    (void)lk_miss_note(miss, "", "'%s' %s", graph->values[missed->value].name, missed->otherwise);
  }
}

bool lk_pattern_match(const lk_pass_env *env, const lk_graph *graph, const lk_pattern *pattern,
                      int32_t root, lk_match *out, lk_miss *miss) {
  matcher self = {.env = env, .graph = graph};
  if (match_tree(&self, pattern, root)) {
    *out = self.match;
    return true;
  }
  if (miss != NULL) tell_condition(env, graph, pattern, root, miss);
  return false;
}
