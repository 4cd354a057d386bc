/* Whether a graph is the body of a node: a branch of If, what Loop or Scan repeat. */
#pragma once

#include "executor_glue/ort/ort.h"

/* Before 1.24, ONNX Runtime names no parent of the graphs that it asks about. A graph is taken for
 * a body then when it reads values of an outer graph, has no inputs, as branches of If, or begins
 * with the inputs of a body of Loop. A body of Scan that reads nothing from outside is taken for a
 * model's graph: its nodes are claimed, and those of the model around it are not. */
lk_status lk_ort_is_body(const lk_ort *ort, const OrtGraph *graph, bool *out, lk_error *error);
