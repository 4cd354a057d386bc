/* The attributes of a node. */
#pragma once

#include "executor_glue/graph/graph.h"
#include "executor_glue/ort/ort.h"

/* Copies `attributes` to `node`, which has room for all of them. Those that the IR has no form for
 * are left out, and `*out_problem` says so. */
lk_status lk_ort_import_attributes(const lk_ort *ort, lk_graph *graph,
                                   const lk_ort_attributes *attributes, lk_node *node,
                                   const char **out_problem, lk_error *error);
