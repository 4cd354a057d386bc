/* A graph of ONNX Runtime into the graph IR. */
#pragma once

#include "executor_glue/graph/graph.h"
#include "executor_glue/ort/contexts.h"

typedef struct lk_ort_import {
  lk_graph *graph;       /* linked; a node's `source` is its number in `nodes` */
  const OrtNode **nodes; /* [n_nodes]: ONNX Runtime's, as it listed them */
  const char *
      *problems; /* [n_nodes]: why a node cannot be in the IR as it is, in the graph's memory;
                            NULL: it can */
  size_t n_nodes;
} lk_ort_import;

/* Reads nodes, values, types and constants. Constants are BORROWED: their bytes are ONNX Runtime's,
 * and valid during the call of it that lent the graph. Inputs and outputs are those of `fused`, in
 * its order; with NULL, those of `from`.
 *
 * What only an unsupported node needs (subgraphs, sequences) does not fail the import: the node has
 * a problem, and its implicit inputs are inputs, so that the order of the graph is known. */
lk_status lk_ort_import_create(const lk_ort_context *context, const OrtGraph *from,
                               const OrtNode *fused, lk_ort_import *out, lk_error *error);
void lk_ort_import_destroy(lk_ort_import *import);
