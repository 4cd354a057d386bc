/* Attributes that operators do not have, before a pass takes the node for another one. */
#pragma once

#include "executor_glue/graph/graph.h"

/* Who is told of attributes that operators do not have, in place of a failure. `sentence` names no
 * node. What it returns ends the passes. */
typedef struct lk_told_attributes {
  lk_status (*tell)(void *arg, const lk_graph *graph, const lk_node *node, const char *sentence,
                    lk_error *error);
  void *arg;
} lk_told_attributes;

/* Refuses the first node that a run needs and whose attributes are not those that its operator has
 * at its opset: LK_INVALID_ARGUMENT, LK_UNSUPPORTED. Nodes of operators that do not exist here are
 * passed over, and so are bodies: they have passes of their own. With `told`, it is told of each
 * attribute, which goes, and no node is refused. The graph is sorted. */
lk_status lk_attributes_check(const lk_api *api, const lk_told_attributes *told, lk_graph *graph,
                              lk_error *error);
