/* The graph of a stage: some nodes of a larger graph. */
#pragma once

#include "executor_glue/graph/graph.h"

/* Copies the nodes that `stages` puts in `stage`, in their order, with the values that they need.
 * Attributes and constants stay where they are in `graph`, until ops have been made. Inputs are the
 * values that others make, outputs those that others read, or that are outputs of `graph`; their
 * numbers in `graph` go to `out_inputs` and `out_outputs` [n_values of graph]. `node_index`
 * [n_nodes] tells where each node is in the part. */
lk_status lk_flow_part_create(const lk_graph *graph, const int32_t *stages, int32_t stage,
                              int32_t *node_index, int32_t *out_inputs, int32_t *out_outputs,
                              lk_graph **out_part, lk_error *error);
