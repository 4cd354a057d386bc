/* The post-ops of a node in its primitive: in the value key, and as arguments of the step. */
#pragma once

#include "ops/plan/planner.h"

/* Adds the post-op chain of the node to a value key; output 0 has description `dst`, and binary
 * operands will be brought to its layout. */
void lk_post_ops_key(lk_planner *planner, lk_key_builder *key, const lk_tensor_desc *dst);

/* As lk_planner_execute, with the operands of the node's binary post-ops. `dst`: the description
 * that lk_post_ops_key was given. */
lk_status lk_post_ops_execute(lk_planner *planner, const lk_primitive *primitive,
                              const lk_primitive_arg *args, uint32_t n_args,
                              const lk_tensor_desc *dst, lk_error *error);
