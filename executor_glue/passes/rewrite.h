/* What passes share: questions about values and operators, and the edits that several of them do.
 * */
#pragma once

#include "executor_glue/passes/pass.h"
#include "executor_glue/passes/symbolic_shapes.h"

#define LK_FUSED_DOMAIN "latchkey" /* operators that only fusion makes */

/* A post-op chain is kept shorter than this: oneDNN takes 32. */
#define LK_MAX_FUSED_POST_OPS 12u

/* A node without post-ops of its own, with an input and an output 0: safe to take apart. */
bool lk_node_is_plain(const lk_node *node);
/* A constant that no run can replace, with float elements, at least one. */
bool lk_value_is_weight(const lk_graph *graph, int32_t value);
/* Such a constant with exactly one element, which is stored. */
bool lk_value_is_scalar(const lk_graph *graph, int32_t value, float *out);
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
/* The post-op without an operand that a plain node is, where its numbers are known at load. */
bool lk_node_post_op(const lk_pass_env *env, const lk_graph *graph, const lk_node *node,
                     lk_post_op *out);
/* Output 0 of `producer` may be changed by `count` more post-ops. */
bool lk_node_takes_post_ops(const lk_pass_env *env, const lk_node *producer, uint32_t count);

/* Adds a constant of the graph that takes over `data`, also on failure. */
lk_status lk_graph_add_constant(lk_graph *graph, const lk_tensor_desc *desc, void *data,
                                int32_t *out_value, lk_error *error);
/* Appends an input that only a post-op uses, behind all inputs that the operator itself may have.
 * */
lk_status lk_node_append_operand(const lk_pass_env *env, lk_graph *graph, int32_t node,
                                 int32_t value, int32_t *out_index, lk_error *error);
/* Appends the post-ops of `from`, with their operands, to those of `to`. */
lk_status lk_node_copy_post_ops(const lk_pass_env *env, lk_graph *graph, int32_t from, int32_t to,
                                lk_error *error);
