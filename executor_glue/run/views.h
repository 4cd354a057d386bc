/* Nodes that need no step, because values can lie within each other. */
#pragma once

#include "executor_glue/run/plan_builder.h"

/* Stores the outputs of a node whose plan only moves bytes without running it, if that can be:
 * `*out_done`. `info`: of the plan. */
lk_status lk_bind_views(lk_plan_builder *builder, const lk_node *node, const lk_plan *plan,
                        const lk_plan_info *info, bool *out_done, lk_error *error);
