/* Bodies of nodes that come into the graph around them. */
#pragma once

#include "executor_glue/graph/value_names.h"

/* The names of all values of a graph, also on failure to be destroyed. */
lk_status lk_graph_index_names(const lk_graph *graph, lk_value_names *out, lk_error *error);

/* Moves the nodes and constants of a body of node `node` into the graph, behind its nodes, under
 * names that no other value has. The body's own inputs become the values `given` (one for each),
 * the captured ones what the node reads; `outputs` [body's n_outputs] gets the values that its
 * outputs have become, which may be `given` or captured ones. The body is empty afterwards. On
 * failure the graph is only good for being destroyed. `names` has those of all values of the graph,
 * and gets those that come in. */
lk_status lk_graph_inline_body(lk_graph *graph, int32_t node, uint32_t body, const int32_t *given,
                               lk_value_names *names, int32_t *outputs, lk_error *error);
