/* Post-op chains: from a node into a value key, and from a value key into oneDNN's attribute. */
#pragma once

#include "ops/plan/primitive_kind.h"

/* oneDNN's element-wise algorithm of a post-op kind, with its parameters; undef: a binary one. */
dnnl_alg_kind_t lk_post_op_eltwise(const lk_post_op *post_op, float *out_alpha, float *out_beta);
/* oneDNN's binary algorithm; undef: an element-wise one. */
dnnl_alg_kind_t lk_post_op_binary(uint32_t kind);

/* The attribute of a primitive: user scratchpad, math mode, and the post-ops of the key. A binary
 * post-op at place i of the chain has a tensor record with role LK_WORD_INPUT and index i. */
lk_status lk_post_ops_attr(const lk_primitive_build *build, dnnl_primitive_attr_t *out_attr,
                           lk_error *error);
