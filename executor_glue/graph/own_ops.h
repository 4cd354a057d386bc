/* The operators of ONNX that executors run themselves, and that the operator table therefore does
 * not have: those with bodies, and those on sequences and optional values. */
#pragma once

#include "executor_glue/graph/graph.h"

/* The operator's row, of which only name, opsets and attributes are set; NULL: it is none of
 * these. */
const lk_op_row *lk_own_op_find(const lk_node *node);

/* The row of any other operator, of the library or of the context; NULL: there is none, or the
 * operator is one of these, whatever a host has registered. */
const lk_op_row *lk_graph_find_row(const lk_api *api, const lk_graph *graph, const lk_node *node);

/* An attribute of a node of such an operator, as its list says. */
int64_t lk_own_op_int(const lk_node *node, const char *name);
