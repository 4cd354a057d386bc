/* Binds one node to the shapes of a run plan. */
#pragma once

#include "executor_glue/run/plan_builder.h"

/* Binds node `node`; computes its outputs now, or adds a step for it. LK_UNSUPPORTED names an input
 * whose value a shape depends on, when that value cannot be known before the run. */
lk_status lk_bind_node(lk_plan_builder *builder, int32_t node, lk_error *error);
