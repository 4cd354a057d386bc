/* What passes share: questions about values and operators, and the edits that several of them do.
 * */
#pragma once

#include "executor_glue/passes/pass.h"

#define LK_FUSED_DOMAIN "latchkey" /* operators that only fusion makes */

/* A node without post-ops of its own, with an input and an output 0: safe to take apart. */
bool lk_node_is_plain(const lk_node *node);
/* Something uses an output of the node, from output `first` on. */
bool lk_node_is_used(const lk_graph *graph, const lk_node *node, uint32_t first);
/* A constant that no run can replace, with float elements, at least one. */
bool lk_value_is_weight(const lk_graph *graph, int32_t value);
/* Used once, by a node, and no output of the graph. */
bool lk_value_is_private(const lk_graph *graph, int32_t value);
/* The node that makes `value`; NULL: none. */
const lk_node *lk_value_producer(const lk_graph *graph, int32_t value);

/* The node's row of the operator table; NULL: none, or the node is dead. */
const lk_op_row *lk_node_row(const lk_pass_env *env, const lk_node *node);
/* Its row has one of these lk_op_flags. */
bool lk_node_has(const lk_pass_env *env, const lk_node *node, uint32_t flags);
/* LK_POST_ADD, _MUL, _SUB or _DIV: what the node makes of its inputs, which are two; 0: it does
 * not. */
uint32_t lk_node_arithmetic(const lk_pass_env *env, const lk_node *node);
/* The post-op without an operand that a plain node is, where its numbers are known at load. `miss`,
 * here and below, may be NULL (refusals.h). */
bool lk_node_post_op(const lk_pass_env *env, const lk_graph *graph, const lk_node *node,
                     lk_post_op *out, lk_miss *miss);
/* Arithmetic with one number, which leaves the shape of its other operand as it is. */
typedef struct lk_number_step {
  uint32_t kind;   /* as of lk_node_arithmetic */
  int32_t operand; /* the value that is no number */
  float number;
  bool number_first; /* number - operand, number / operand */
} lk_number_step;
bool lk_node_number_step(const lk_pass_env *env, const lk_graph *graph, const lk_node *node,
                         lk_number_step *out);
bool lk_is_power_of_two(float number); /* or minus one; denormal ones are not */
/* A product with 1 / number is the quotient by it, to the bit. */
bool lk_has_exact_reciprocal(float number);
/* A node makes the value, as its output 0, whose operator takes post-ops. */
bool lk_value_takes_post_ops(const lk_pass_env *env, const lk_graph *graph, int32_t value);
/* The node that `count` more post-ops may be appended to, to act on `value`: it makes the value,
 * f32, as its output 0, for one other node alone. LK_NO_NODE: there is none. */
int32_t lk_post_op_target(const lk_pass_env *env, const lk_graph *graph, int32_t value,
                          uint32_t count, lk_miss *miss);
/* lk_value_is_private, with a note of who else has the value. */
bool lk_value_is_for_one(const lk_graph *graph, int32_t value, lk_miss *miss);
/* What helps where a value is computed that could be a constant. */
#define LK_ADVICE_CONSTANT "make it a constant of the model, where it always is the same"

/* Adds a constant of the graph that takes over `data`, also on failure. */
lk_status lk_graph_add_constant(lk_graph *graph, const lk_tensor_desc *desc, void *data,
                                int32_t *out_value, lk_error *error);
/* Fuses node `add`, which adds `other` to `product`, into the node that makes `product`, with the
 * post-ops of `add` behind it. `note` is for `fused`. */
lk_status lk_graph_fuse_add(const lk_pass_env *env, lk_graph *graph, int32_t add, int32_t product,
                            int32_t other, const char *note, lk_error *error);
/* Node `node`, which does the work of `absorbed` as well by now, makes that one's output 0 as its
 * own. */
void lk_graph_absorb_node(lk_graph *graph, int32_t node, int32_t absorbed);
