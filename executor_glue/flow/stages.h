/* Which stage each node of a graph is in. */
#pragma once

#include "executor_glue/graph/graph.h"

/* A stage with an even number is a part of the graph, bound as a whole; one with an odd number has
 * nodes that run one by one: control flow, and operators whose outputs' shapes follow from data. A
 * node comes after the stages that make its inputs, or is in the same one.
 *
 * Fills `stages` [n_nodes of the linked graph], and says how many there are: 1 is a graph without
 * a cut. */
lk_status lk_flow_stages(const lk_api *api, const lk_graph *graph, int32_t *stages,
                         int32_t *out_count, lk_error *error);

/* The node runs alone, whatever is around it. The kinds of values are known. */
bool lk_flow_runs_alone(const lk_api *api, const lk_graph *graph, const lk_node *node);
