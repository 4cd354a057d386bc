/* The graph of a stage: some nodes of a larger graph. */
#pragma once

#include "executor_glue/graph/graph.h"

/* What the parts of a graph are made from: which nodes each has, and who reads which value. Found
 * once, so that many parts take no longer than few. */
typedef struct lk_flow_parts {
  const lk_graph *graph;
  int32_t *nodes;   /* [n_nodes]: those of one stage together, in their order */
  int32_t *first;   /* [n_stages + 1]: where those of each begin */
  int32_t *readers; /* [n_values]: the only stage that reads it, or what part.c says */
  int32_t *numbers; /* [n_values]: in the part that is being made, or LK_NO_VALUE */
} lk_flow_parts;

/* `stages` [n_nodes]: below `n_stages`. */
lk_status lk_flow_parts_create(const lk_graph *graph, const int32_t *stages, size_t n_stages,
                               lk_flow_parts *out, lk_error *error);
void lk_flow_parts_destroy(lk_flow_parts *parts); /* also zeroed ones */

/* Copies the nodes of `stage`, in their order, with the values that they need.
 * Attributes and constants stay where they are in `graph`, until ops have been made. Inputs are the
 * values that others make, outputs those that others read, or that are outputs of `graph`; their
 * numbers in `graph` go to `out_inputs` and `out_outputs` [n_values of graph]. `node_index`
 * [n_nodes] tells where each node is in the part. */
lk_status lk_flow_part_create(const lk_flow_parts *parts, int32_t stage, int32_t *node_index,
                              int32_t *out_inputs, int32_t *out_outputs, lk_graph **out_part,
                              lk_error *error);
