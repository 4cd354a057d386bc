/* Small trees of operators, as text, and where a graph has them.
 *
 * What a tree is made of:
 *
 *   x                a value; the same name is the same value wherever it stands
 *   0.5              a constant of one element, equal within the rounding of a float; 2: exactly
 *   #a               a constant of one element, whatever its number
 *   Erf(x)           the node of ai.onnx that makes a value; inputs that are not listed are absent,
 *                    or a rule reads them
 *   d=Erf(x)         the same, and its output is called d
 *   ReduceMean[last](x)   a node for which a rule holds (pattern_rules.c)
 *   Clip(x, 0, 6)    an activation: its numbers, attributes or inputs, as of lk_node_post_op
 *   Mul(x, y, 2), Add(x, y, 1)   a product or a sum, in any order and nesting, over nodes that it
 *                    alone uses; Div and Sub of nodes are read as factors Reciprocal(y) and terms
 *                    Neg(y), and all constant numbers of it as one, which stands last
 *   Sub(x, y), Div(x, y)         the same as Add(x, Neg(y)) and Mul(x, Reciprocal(y))
 *   (Pow(x, 2) | Mul(x, x))      either
 *   &DequantizeLinear(x, s, z?)  a node that others may use too, for whom it stays; z may be absent
 *
 * A value that stands several times may also be several constants of the same bytes.
 *
 * What a tree is replaced by is one node: `domain::Op@opset[name=value, ...](x, y)`, with values
 * 1 (whole numbers), #a and #a*#b (floats), 'text' and |x| (how many elements the constant x
 * has). `Op@opset[d](x)` has the attributes of the node that makes d, beside others; `Op@d(x,
 * ...)` has its attributes and its opset, and its inputs behind those that are listed. */
#pragma once

#include <string.h>

#include "executor_glue/passes/pass.h"

#define LK_ABSENT_VALUE (-2) /* what a value is bound to that is absent */

enum {
  LK_TREE_ITEMS = 48,     /* of one text */
  LK_TREE_ARGS = 14,      /* of one node */
  LK_TREE_VALUES = 16,    /* named values */
  LK_TREE_NUMBERS = 4,    /* named numbers */
  LK_TREE_NODES = 20,     /* of a graph, that are one tree */
  LK_TREE_ATTRS = 4,      /* of a result, by its text */
  LK_TREE_ALL_ATTRS = 12, /* with those of a node that it takes over */
  LK_TREE_NAME = 32       /* bytes of a name in a result, with a 0 */
};

typedef enum lk_tree_kind {
  LK_TREE_VALUE,  /* `slot` */
  LK_TREE_NUMBER, /* `number` */
  LK_TREE_SCALAR, /* `slot`, of numbers */
  LK_TREE_NODE,
  LK_TREE_EITHER
} lk_tree_kind;

typedef struct lk_text {
  const char *start;
  size_t length;
} lk_text;

static inline bool lk_text_is(const lk_text *text, const char *other) {
  return strlen(other) == text->length && memcmp(text->start, other, text->length) == 0;
}

typedef struct lk_tree_item {
  lk_tree_kind kind;
  lk_text name; /* of a node's operator */
  lk_text rule; /* of a node; empty: none */
  int32_t slot; /* of a value or number; of a node: what its output is called, or -1 */
  double number;
  bool is_shared;   /* of a node: others may use it */
  bool is_optional; /* of a value: it may be absent */
  uint32_t n_args;
  const struct lk_tree_item *args[LK_TREE_ARGS];
} lk_tree_item;

typedef struct lk_tree_attr {
  char name[LK_TREE_NAME], text[LK_TREE_NAME]; /* text: "" where it is a number */
  int32_t slot;    /* of a number of the tree, a float; -1: `text` or `number` */
  int32_t factor;  /* of another that is multiplied to it; -1: none */
  int32_t counted; /* slot of a value: the number of its elements; -1: `text` or `number` */
  int64_t number;
} lk_tree_attr;

typedef struct lk_tree_result {
  char domain[LK_TREE_NAME], op_type[LK_TREE_NAME];
  int32_t opset; /* 0: that of `like` */
  int32_t like;  /* slot of what the node makes whose attributes it has; -1: none */
  bool has_rest; /* its inputs behind these, too */
  uint32_t n_attrs, n_inputs;
  lk_tree_attr attrs[LK_TREE_ATTRS];
  int32_t inputs[LK_TREE_ARGS]; /* slots */
} lk_tree_result;

typedef struct lk_pattern {
  lk_tree_item items[LK_TREE_ITEMS];
  uint32_t n_items;
  const lk_tree_item *root;
  lk_text values[LK_TREE_VALUES], numbers[LK_TREE_NUMBERS];
  uint32_t n_values, n_numbers;
  lk_tree_result result;
} lk_pattern;

/* Reads both texts, which must live as long as the pattern, and the pattern stays where it is.
 * LK_MALFORMED names the place where a text is no such thing. */
lk_status lk_pattern_parse(const char *tree, const char *result, lk_pattern *out, lk_error *error);

/* Where a graph has a tree. */
typedef struct lk_match {
  int32_t values[LK_TREE_VALUES]; /* LK_NO_VALUE: not yet */
  double numbers[LK_TREE_NUMBERS];
  bool has_number[LK_TREE_NUMBERS];
  int32_t nodes[LK_TREE_NODES];  /* the root first */
  bool is_shared[LK_TREE_NODES]; /* such a node stays for others that use it */
  uint32_t n_nodes;
} lk_match;

/* Whether node `root` is the root of such a tree, whose inner values, but those
 * of shared nodes, nothing else uses. `miss` (NULL: nobody listens) gets the condition of a node
 * that is such a tree but for that one. */
bool lk_pattern_match(const lk_pass_env *env, const lk_graph *graph, const lk_pattern *pattern,
                      int32_t root, lk_match *out, lk_miss *miss);

/* ---- pattern_rules.c ---- */

/* Whether the rule of that name holds for a node; there must be one (patterns_test.cc). */
bool lk_pattern_rule_holds(const lk_text *rule, const lk_pass_env *env, const lk_graph *graph,
                           const lk_node *node);
/* What is said of a node for which it does not hold: a sentence without its subject. */
const char *lk_pattern_rule_otherwise(const lk_text *rule);
