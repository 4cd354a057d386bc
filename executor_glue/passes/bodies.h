/* Bodies of nodes: they get the constants that they captured, and lose what they do not read. */
#pragma once

#include "executor_glue/graph/graph.h"

/* What the bodies of node `index` captured and is a constant becomes one of theirs; what they do
 * not read is captured no longer. Both graphs are linked, and counted. Constants that others read
 * too are copied as long as `*copies_left` bytes allow it, which they take from; then they stay
 * captured. Adds the number of changes. */
lk_status lk_bodies_narrow(lk_graph *graph, int32_t index, uint64_t *copies_left,
                           uint64_t *out_changes, lk_error *error);
