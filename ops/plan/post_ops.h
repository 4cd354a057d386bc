/* Post-op chains: from a value key into oneDNN's attribute. */
#pragma once

#include "ops/plan/primitive_kind.h"

/* The attribute of a primitive: user scratchpad, math mode, and the post-ops of the key. A binary
 * post-op at place i of the chain has a tensor record with role LK_WORD_INPUT and index i. */
lk_status lk_post_ops_attr(const lk_primitive_build *build, dnnl_primitive_attr_t *out_attr,
                           lk_error *error);
