/* Gives the values of a run plan their places. */
#pragma once

#include "executor_glue/run/dependencies.h"
#include "executor_glue/run/plan_builder.h"

/* After all nodes are bound: gives each wanted graph output the caller's buffer or a copy, and each
 * storage its place in the arena; writes the plan's operands. `dependencies`: NULL when the steps
 * run in their order. */
lk_status lk_place_values(lk_plan_builder *builder, const lk_dependencies *dependencies,
                          lk_error *error);
