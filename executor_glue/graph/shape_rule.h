/* One operator's shape, as far as it is certain; see shape_class.h. */
#ifndef LK_GRAPH_SHAPE_RULE_H
#define LK_GRAPH_SHAPE_RULE_H

#include "executor_glue/graph/shape_class.h"

/* The shape and type of output 0 of a node whose inputs are in `classes` already. */
lk_shape lk_shape_rule(const lk_graph *graph, lk_shape_classes *classes, const lk_node *node);
uint32_t lk_dtype_rule(const lk_shape_classes *classes, const lk_node *node);

#endif
