/* What keeps a graph from running: every node of it, not only the first one that is refused. */
#pragma once

#include "executor_glue/graph/graph.h"
#include "executor_glue/passes/symbolic_shapes.h"

typedef struct lk_missing_node {
  const char *op_type, *domain; /* domain "": ai.onnx */
  int32_t opset;
  const char *scope; /* of the body that it is in; "": the main graph */
  const char *label; /* its name, or that of an output */
  /* Of its inputs: "f32, i64"; "?": not known, "-": absent. "" where they do not matter. */
  const char *types;
  const char *reason; /* the same for nodes of the same kind: it names no node */
} lk_missing_node;

/* Borrows all of `node` until it returns. */
typedef lk_status lk_missing_fn(void *arg, const lk_missing_node *node, lk_error *error);

/* Tells each node of a linked graph, and of the bodies in it, that no run can have, whatever its
 * inputs turn out to be. What only values decide comes to light in a run. Nodes that stand for what
 * a lenient load left out are passed over. `found` failing ends it, with its status;
 * LK_OUT_OF_MEMORY; LK_MALFORMED: sequences are used as tensors. */
lk_status lk_flow_find_missing(const lk_api *api, lk_graph *graph, lk_missing_fn *found, void *arg,
                               lk_error *error);

/* Refuses the first node of a graph whose operator does not take the types of its inputs, as far as
 * `shapes` knows them. Bodies are graphs of their own. The status of op_infer, and its sentence
 * with the node's name; LK_OUT_OF_MEMORY. */
lk_status lk_flow_check_types(const lk_api *api, const lk_graph *graph, lk_symbolic_shapes *shapes,
                              lk_error *error);
