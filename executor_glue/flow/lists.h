/* Sequences and optional values: which values are some, and the operators on them. They are of the
 * flow alone, and no rows of the operator table: what they hand on are references to tensors. */
#pragma once

#include "executor_glue/flow/state.h"

/* Finds the kind of each value of a linked graph, and of the bodies in it. LK_MALFORMED: an
 * operator has an input of a kind that it does not take. */
lk_status lk_flow_find_kinds(lk_graph *graph, lk_error *error);

/* After that. LK_UNSUPPORTED: output `index` of the graph is not a tensor, as a run gives them. */
lk_status lk_flow_check_output(const lk_graph *graph, size_t index, lk_error *error);

/* The operator, if the node is one on sequences or optional values, or copies one; or NULL. */
const lk_list_op *lk_flow_list_find(const lk_graph *graph, const lk_node *node);
bool lk_flow_list_has_body(const lk_list_op *op);
/* Whether outputs are sequences, optional, or as the first input: lk_list_result. */
typedef enum lk_list_result {
  LK_LIST_GIVES_TENSOR,
  LK_LIST_GIVES_SEQUENCE,
  LK_LIST_GIVES_SAME,
  LK_LIST_GIVES_OPTIONAL, /* of what the first input is */
  LK_LIST_GIVES_ELEMENT   /* what the first input, an optional value, has */
} lk_list_result;
lk_list_result lk_flow_list_result(const lk_list_op *op);

/* Checks the numbers of inputs and outputs, and reads the attributes into the stage. */
lk_status lk_flow_list_read(const lk_graph *graph, lk_stage *stage, lk_error *error);
