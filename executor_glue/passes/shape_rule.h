/* One operator's shape, as far as it is certain; see shape_class.h. */
#ifndef LK_PASSES_SHAPE_RULE_H
#define LK_PASSES_SHAPE_RULE_H

#include "executor_glue/passes/symbolic_shapes.h"

/* The shape and type of output 0 of a node whose inputs are in `classes` already. */
lk_shape lk_shape_rule(const lk_graph *graph, lk_symbolic_shapes *classes, const lk_node *node);
uint32_t lk_dtype_rule(const lk_symbolic_shapes *classes, const lk_node *node);

#endif
