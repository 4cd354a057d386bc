/* Attributes that operators do not have, before a pass takes the node for another one. */
#pragma once

#include "executor_glue/passes/pass.h"

/* Refuses the first node that a run needs and whose attributes are not those that its operator has
 * at its opset: LK_INVALID_ARGUMENT, LK_UNSUPPORTED. Nodes of operators that do not exist here are
 * passed over, and so are bodies: they have passes of their own. With env->told_attributes, it is
 * told of each attribute, which goes; no node is refused then. The graph is sorted. */
lk_status lk_attributes_check(const lk_pass_env *env, lk_graph *graph, lk_error *error);
